import NIOCore
import PealCore

/// Requests going out.
extension HTTP2ConnectionHandler {
    /// Begins as many requests as the pool has and the connection takes.
    func pump() {
        guard let context, !isFinishing, state.isSettled, context.channel.isActive else { return }
        guard state.takesRequests else { return finish() }
        let authorization = exchange.authorization()
        while context.channel.isWritable, let run = pool.pull(id, budget) {
            begin(run, authorization)
        }
        flush()
    }

    /// What the connection takes now. Before the first answer it is one request (providers.md: one stream until the
    /// provider token was let in); the shares are those of the connection that keeps some room for small messages.
    private var budget: PoolQueue.Budget {
        let streams = isProven ? state.streamRoom : min(state.streamRoom, max(0, 1 - state.openCount))
        let streamsMax = min(state.peer.streamsMax, Limits.streamsPerConnectionMax)
        let share = streamsMax > 1 && isProven ? max(1, streamsMax / 20) : 0
        let shareBytes = min(Limits.directWindowBytes, pulse.largestWindow / 2)
        pulse.largestWindow = max(pulse.largestWindow, state.sendWindow)
        return PoolQueue.Budget(
            streams: streams, windowBytes: state.sendWindow, bulkStreams: streams - share,
            bulkWindowBytes: state.sendWindow - shareBytes, streamWindow: state.peer.initialWindow,
            partialBodies: state.partialBodyRoom, isIdle: state.openCount == 0)
    }

    private func begin(_ run: PoolQueue.Run, _ authorization: Authorization?) {
        let number = orders.number(for: run.order)
        guard let slot = orders[number] else { return }
        slot.outstanding += run.count
        run.order.order.flight.begin(run.count)
        run.order.addresses.withUnsafeBytes { addresses in
            switch run.indices {
            case .range(let range):
                for index in range { begin(index, run.resends, number, slot, addresses, authorization) }
            case .list(let list):
                for index in list { begin(index, run.resends, number, slot, addresses, authorization) }
            }
        }
    }

    @inline(__always)
    private func begin(
        _ index: Int32, _ resends: UInt8, _ number: Int32, _ slot: OrderSlot, _ addresses: UnsafeRawBufferPointer,
        _ authorization: Authorization?
    ) {
        let open = slot.open
        let device = Int(index)
        let template = slot.template(Int(open.variants[device]), &state.encoder, authorization)
        let start = device == 0 ? 0 : Int(open.addressEnds[device - 1])
        let id = NotificationID.make(
            message: open.order.slice.message, inAddresses: slot.isInAddresses, key: open.keys[device])
        state.begin(
            template, address: UnsafeRawBufferPointer(rebasing: addresses[start..<Int(open.addressEnds[device])]),
            id: (id.high, id.low), ticket: StreamTicket(order: number, index: index, resends: resends), into: &out)
        if out.readableBytes >= Limits.flushBytes { flush() }
    }
}
