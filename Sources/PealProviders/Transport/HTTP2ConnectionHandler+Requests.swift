import NIOCore
import PealCore

/// Requests going out.
extension HTTP2ConnectionHandler {
    /// Begins as many requests as the pool has and the connection takes.
    func pump() {
        guard let context, !isFinishing, state.isSettled, context.channel.isActive else { return }
        guard state.takesRequests else { return finish() }
        if state.isNearEnd, !hasAnnouncedEnd {
            hasAnnouncedEnd = true
            pool.announceEnd(id)
        }
        let authorization = exchange.authorization()
        if authorization == nil, let answer = exchange.obstacle() {
            pool.refuse(id, answer)
            return flush()
        }
        authorizations.note(authorization, from: state.nextStreamID)
        while context.channel.isWritable, let run = pool.pull(id, budget) {
            begin(run, authorization)
        }
        flush()
    }

    /// What the connection takes now. Before the first answer it is one request (providers.md: one stream until the
    /// provider token was let in); the shares are those of the connection that keeps some room for small messages.
    private var budget: PoolQueue.Budget {
        let room = min(state.streamRoom, max(0, (pulse.openMax ?? .max) - state.openCount))
        let streams = isProven ? room : min(room, max(0, 1 - state.openCount))
        let streamsMax = min(state.peer.streamsMax, Limits.streamsPerConnectionMax)
        let share = streamsMax > 1 && isProven ? max(1, streamsMax / 20) : 0
        // No more than an eighth: peers open their window again only once a good part of it is used.
        let shareBytes = min(Limits.directWindowBytes, pulse.largestWindow / 8)
        pulse.largestWindow = max(pulse.largestWindow, state.sendWindow)
        return PoolQueue.Budget(
            streams: streams, windowBytes: state.sendWindow, bulkStreams: streams - share,
            bulkWindowBytes: state.sendWindow - shareBytes, streamWindow: state.peer.initialWindow,
            partialBodies: state.partialBodyRoom, isIdle: state.openCount == 0, isProven: isProven)
    }

    private func begin(_ run: PoolQueue.Run, _ authorization: Authorization?) {
        let number = orders.number(for: run.order)
        guard let slot = orders[number] else { return }
        slot.outstanding += run.count
        run.order.order.flight.begin(run.count)
        let writer = RunWriter(run: run, number: number, slot: slot, authorization: authorization)
        var position = 0
        while position < run.count {
            position = writer.write(from: position, with: &state, into: &out)
            if out.readableBytes >= Limits.flushBytes { flush() }
        }
    }
}
