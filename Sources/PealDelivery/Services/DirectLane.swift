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
                        await SliceWorker(context: context).work(slice, askedAt: askedAt)
                        context.direct.finish()
                    }
                }
                if context.stop.isOn, context.direct.isEmpty { return }
                await context.direct.arrival.wait()
            }
        }
    }
}
