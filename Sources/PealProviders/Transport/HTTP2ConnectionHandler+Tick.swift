import Logging
import PealCore

extension HTTP2ConnectionHandler {
    /// Once a second, if not told otherwise.
    func tick() {
        let orders = pulse.tick(
            uptime: pool.time.uptime, nextStreamID: state.nextStreamID, openCount: state.openCount,
            oldestOpenID: state.oldestOpenID, hasRoom: state.streamRoom > 0, pongCount: state.pongCount,
            isSettled: state.isSettled)
        if orders.isStalled {
            pool.logger.warning("connection stalled", metadata: metadata(""))
            return abort()
        }
        if let id = orders.giveUpBefore, state.openCount > 0 {
            state.giveUp(before: id, into: &out, endings: &endings)
            settleEndings()
        }
        if orders.sendsPing { state.ping(into: &out) }
        if orders.isShut || orders.isIdle && pool.isSpare(id) { finish() }
        pump()
        flush()
        closeIfDone()
    }
}
