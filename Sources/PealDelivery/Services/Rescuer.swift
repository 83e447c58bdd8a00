internal import Logging
internal import PealCore

/// Takes back leases whose holder is gone: all of them at the start of the only process, later those that ran out.
struct Rescuer: Sendable {
    private static let interval: Duration = .seconds(10)

    let context: DeliveryContext

    /// Before anything is leased.
    func start() async {
        if context.options.isOnlyProcess { await takeBack(endedBefore: nil) }
        context.noteStart()
    }

    /// Runs until the process stops.
    func run() async {
        let never = Signal()
        context.onStop(never)
        while await context.pause(never, atMost: Self.interval) {
            await takeBack(endedBefore: context.time.now)
        }
    }

    private func takeBack(endedBefore instant: Timestamp?) async {
        do {
            let count = try await context.store.write(.control) { try $0.takeBackLeases(endedBefore: instant) }
            guard count > 0 else { return }
            context.metrics.change { $0.leasesTakenBack += count }
            context.logger.notice("leases were taken back", metadata: ["slices": "\(count)"])
            context.ready.set()
        } catch {
            context.logger.error("leases could not be taken back", metadata: ["error": "\(error)"])
        }
    }
}
