internal import Logging
internal import PealCore

/// Takes back leases whose holder is gone: when the only process starts, all of them; later, those that have expired.
struct Rescuer: Sendable {
    private static let interval: Duration = .seconds(10)
    /// Messages whose quarantined slices end in one write.
    private static let endedPerWrite = 100

    let context: DeliveryContext

    /// Runs once, before anything is leased.
    func start() async {
        if context.isOnlyProcess { await takeBack(endedBefore: nil) }
        context.leases.noteStart(at: context.time.uptime)
        await endQuarantined()
    }

    /// Runs until the process stops.
    func run() async {
        let sleeper = context.stop.sleeper()
        var lag = context.time.lag
        while await context.stop.pause(sleeper, atMost: Self.interval) {
            let stalled = context.time.lag - lag
            lag += stalled
            // If this process could not run, perhaps because its machine was suspended, the same may be true of others:
            // they get until the next round to extend their leases.
            guard stalled < .seconds(Limits.heartbeatSeconds) else { continue }
            // After an outage, all holders seem to be gone until they have written again.
            guard context.isOnlyProcess || context.health.hasBeenWriting(for: .seconds(Limits.heartbeatSeconds)) else {
                continue
            }
            // The same happens after the clock was set, until they have extended their leases by the new time.
            guard await context.time.isSteady() else { continue }
            await takeBack(endedBefore: context.time.now)
        }
    }

    /// Slices that were quarantined after their message had ended would keep its counts from being final. Done once at
    /// each start, because what cannot be stored is quarantined again.
    private func endQuarantined() async {
        do {
            let count = try await context.store.write(.control) { try $0.endQuarantined(limit: Self.endedPerWrite) }
            if count > 0 {
                context.logger.notice(
                    "ended quarantined slices of ended messages", metadata: ["slices": .stringConvertible(count)])
            }
        } catch {
            context.logger.error("quarantined slices could not be ended", metadata: ["error": "\(error)"])
        }
    }

    private func takeBack(endedBefore instant: Timestamp?) async {
        do {
            let starter = instant == nil ? context.owner : nil
            let count = try await context.store.write(.control) { [context] in
                // This process works on the leases of its board, whatever the clock says.
                try $0.takeBackLeases(endedBefore: instant, keeping: context.leases.held, by: starter)
            }
            guard count > 0 else { return }
            context.metrics.change { $0.leasesTakenBack += count }
            context.logger.notice("leases were taken back", metadata: ["slices": .stringConvertible(count)])
            context.ready.set()
        } catch {
            context.logger.error("leases could not be taken back", metadata: ["error": "\(error)"])
        }
    }
}
