internal import Logging
internal import PealCore

/// Takes back leases whose holder is gone: at the start of the only process all of them, later those that ran out.
struct Rescuer: Sendable {
    private static let interval: Duration = .seconds(10)

    private let isOnlyProcess: Bool
    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let metrics: DeliveryMetrics
    private let leases: LeaseBoard
    private let owner: String
    private let ready: Signal
    private let stop: StopSwitch

    init(_ context: DeliveryContext, isOnlyProcess: Bool) {
        self.isOnlyProcess = isOnlyProcess
        store = context.store
        time = context.time
        logger = context.logger
        metrics = context.metrics
        leases = context.leases
        owner = context.owner
        ready = context.ready
        stop = context.stop
    }

    /// Runs once, before anything is leased.
    func start() async {
        if isOnlyProcess { await takeBack(endedBefore: nil) }
        leases.noteStart(at: time.uptime)
    }

    /// Runs until the process stops.
    func run() async {
        let sleeper = stop.sleeper()
        while await stop.pause(sleeper, atMost: Self.interval) {
            await takeBack(endedBefore: time.now)
        }
    }

    private func takeBack(endedBefore instant: Timestamp?) async {
        do {
            let (leases, starter) = (leases, instant == nil ? owner : nil)
            let count = try await store.write(.control) {
                // This process works on the leases of its board, whatever the clock says.
                try $0.takeBackLeases(endedBefore: instant, keeping: leases.held, by: starter)
            }
            guard count > 0 else { return }
            metrics.change { $0.leasesTakenBack += count }
            logger.notice("leases were taken back", metadata: ["slices": "\(count)"])
            ready.set()
        } catch {
            logger.error("leases could not be taken back", metadata: ["error": "\(error)"])
        }
    }
}
