internal import PealCore

/// Works off small messages at once: they were leased while they were accepted, and never wait behind bulk pages.
struct DirectLane: Sendable {
    let context: DeliveryContext

    /// Runs until the process stops and every worker has ended.
    func run() async {
        await withDiscardingTaskGroup { workers in
            while true {
                for (slice, askedAt) in context.direct.take() {
                    workers.addTask {
                        await work(slice, askedAt)
                        context.direct.finish()
                    }
                }
                if context.stop.isOn, context.direct.isEmpty { return }
                await context.direct.arrival.wait()
            }
        }
    }

    /// A message that was accepted while this process started may have lost its lease to the start itself.
    private func work(_ slice: Slice, _ askedAt: Duration) async {
        if context.isFromBeforeStart(askedAt), await !isHeld(slice) { return context.ready.set() }
        await SliceWorker(context: context).work(slice, askedAt: askedAt)
    }

    private func isHeld(_ slice: Slice) async -> Bool {
        let (owner, lease, until) = (context.owner, (id: slice.id, term: slice.term), context.leaseEnd)
        let held = try? await context.store.write(.settle) {
            try $0.extendLeases([lease], owner: owner, until: until)
        }
        return held?.isEmpty == false
    }
}
