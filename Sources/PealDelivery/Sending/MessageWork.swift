internal import PealCore
internal import Synchronization

/// What is kept of one message while its slices are worked on.
final class MessageWork: Sendable {
    private struct Key: Hashable {
        let route: Route
        let fingerprint: String
    }

    let job: DeliveryJob
    let readAt: Duration
    private let variants: Mutex<[Key: Variants]>

    init(job: DeliveryJob, readAt: Duration) {
        self.job = job
        self.readAt = readAt
        variants = Mutex([:])
    }

    /// The same message read again: its content never changes while it is sent, so renderings stay.
    init(job: DeliveryJob, readAt: Duration, keepingVariantsOf earlier: MessageWork) {
        self.job = job
        self.readAt = readAt
        variants = Mutex(earlier.variants.withLock { $0 })
    }

    func options(on route: Route) -> MessageOptions {
        let options = job.options.resolved(for: route.platform, in: job.content)
        guard job.message.windowUntil != nil else { return options }
        return options.inWindow(of: job.message.id, on: route.platform)
    }

    func lifetime(on route: Route) -> Lifetime { Lifetime(job.message, options: options(on: route)) }

    /// The renderings for a route. Most networks are told how long a message is still worth something, counted from
    /// when they get it, so for those a rendering is soon made anew; APNs is told an instant.
    func variants(
        route: Route, access: Access, provider: any Provider, now: Timestamp
    ) -> Variants {
        variants.withLock { known in
            let key = Key(route: route, fingerprint: access.fingerprint)
            if let found = known[key], route.platform == .ios || found.isFresh(at: now) { return found }
            let order = RenderOrder(
                message: job.message.id, content: job.content, options: options(on: route), locale: nil, route: route,
                providerAppID: access.providerAppID, expiresAt: lifetime(on: route).told, now: now)
            let made = Variants(order: order, provider: provider)
            known[key] = made
            return made
        }
    }
}
