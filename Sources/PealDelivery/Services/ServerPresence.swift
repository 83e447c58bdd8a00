internal import Logging
internal import PealCore

/// Reports to the other servers on the database that this one is running, and to the providers how many send: a push
/// network's rate limit applies to all servers together.
struct ServerPresence: Sendable {
    private static let interval: Duration = .seconds(5)

    let context: DeliveryContext

    /// Records this server once, and counts those that send.
    func note() async {
        let (owner, now) = (context.owner, context.time.now)
        do {
            let count = try await context.store.write(.control) {
                try $0.recordServer(owner, now: now, seenSince: now - .seconds(Limits.serverPresenceSeconds))
            }
            for provider in context.providers.values { provider.share(among: max(1, count)) }
        } catch {
            // The last count stays in use.
            context.logFailure("the servers on the database could not be counted", error, level: .warning)
        }
    }

    /// Runs until the process stops. The others take over its share then.
    func run() async {
        let sleeper = context.stop.sleeper()
        while await context.stop.pause(sleeper, atMost: Self.interval) { await note() }
        let owner = context.owner
        try? await context.store.write(.control) { try $0.removeServer(owner) }
    }
}
