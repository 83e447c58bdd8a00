internal import Logging
internal import PealCore

/// Extends the leases of slices that settled nothing for a while, so that a slow page keeps its slice.
struct Heartbeat: Sendable {
    private static let interval: Duration = .seconds(Limits.heartbeatSeconds / 2)

    let context: DeliveryContext

    /// Runs until it is cancelled: also while a stopping process awaits its last answers.
    func run() async {
        while !Task.isCancelled {
            do { try await context.time.sleep(for: Self.interval) } catch { return }
            await beat()
        }
    }

    private func beat() async {
        let now = context.time.uptime
        let stale = context.leases.stale(since: now - .seconds(Limits.heartbeatSeconds))
        guard !stale.isEmpty else { return }
        let (owner, until) = (context.owner, context.leaseEnd)
        do {
            let held = Set(
                try await context.store.write(.settle) {
                    try $0.extendLeases(stale, owner: owner, until: until)
                })
            context.metrics.change { $0.leasesExtended += held.count }
            for lease in stale {
                if held.contains(lease.id) {
                    context.leases.renew(lease.id, term: lease.term, askedAt: now)
                } else {
                    context.leases.lose(lease.id, term: lease.term)
                }
            }
        } catch {
            context.logger.error("leases could not be extended", metadata: ["error": "\(error)"])
        }
    }
}
