internal import Logging
internal import PealCore

/// Takes back leases whose holder is gone: when the only process starts, all of them; later, those that have expired.
struct Rescuer: Sendable {
    private static let interval: Duration = .seconds(10)
    /// Messages whose quarantined slices end in one write.
    private static let endedPerWrite = 100

    private let isOnlyProcess: Bool
    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let metrics: DeliveryMetrics
    private let health: StoreHealth
    private let leases: LeaseBoard
    private let owner: String
    private let ready: Signal
    private let stop: StopSwitch

    init(_ context: DeliveryContext) {
        isOnlyProcess = context.isOnlyProcess
        store = context.store
        time = context.time
        logger = context.logger
        metrics = context.metrics
        health = context.health
        leases = context.leases
        owner = context.owner
        ready = context.ready
        stop = context.stop
    }

    /// Runs once, before anything is leased.
    func start() async {
        if isOnlyProcess { await takeBack(endedBefore: nil) }
        leases.noteStart(at: time.uptime)
        await endQuarantined()
    }

    /// Runs until the process stops.
    func run() async {
        let sleeper = stop.sleeper()
        while await stop.pause(sleeper, atMost: Self.interval) {
            // After an outage, all holders seem to be gone until they have written again.
            guard isOnlyProcess || health.hasBeenWriting(for: .seconds(Limits.heartbeatSeconds)) else { continue }
            // The same happens after the clock was set, until they have extended their leases by the new time.
            guard await time.isSteady() else { continue }
            await takeBack(endedBefore: time.now)
        }
    }

    /// Slices that were quarantined after their message had ended would keep its counts from being final. Done once at
    /// each start, because what cannot be stored is quarantined again.
    private func endQuarantined() async {
        do {
            let count = try await store.write(.control) { try $0.endQuarantined(limit: Self.endedPerWrite) }
            if count > 0 {
                logger.notice("ended quarantined slices of ended messages", metadata: ["slices": "\(count)"])
            }
        } catch {
            logger.error("quarantined slices could not be ended", metadata: ["error": "\(error)"])
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
