import Logging
import PealCore

extension HTTP2ConnectionHandler {
    /// Once a second, if not told otherwise.
    func tick() {
        let orders = pulse.tick(
            uptime: pool.time.uptime, nextStreamID: state.nextStreamID, openCount: state.openCount,
            pongCount: state.pongCount, isSettled: state.isSettled)
        if orders.isStalled {
            pool.logger.warning("connection stalled", metadata: metadata(""))
            return abort()
        }
        if let id = orders.giveUpBefore, state.openCount > 0 {
            for ticket in state.giveUp(before: id, into: &out) {
                endings.others.append(.init(ticket: ticket, kind: .lost("Timeout")))
            }
            settleEndings()
        }
        if orders.sendsPing { state.ping(into: &out) }
        if orders.isIdle, pool.isSpare(id) { finish() }
        pump()
        flush()
        closeIfDone()
    }
}
