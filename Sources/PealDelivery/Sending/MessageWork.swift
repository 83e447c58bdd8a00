internal import PealCore
internal import Synchronization

/// What this process knows about one message while it works on its slices.
final class MessageWork: Sendable {
    /// By route and credential. All versions of the message share them, because its content never changes while it is
    /// sent.
    private final class Renderings: Sendable {
        struct Key: Hashable {
            let route: Route
            let fingerprint: String
        }

        let byKey = Mutex<[Key: Variants]>([:])
    }

    let job: DeliveryJob
    let readAt: Duration
    private let renderings: Renderings

    /// - Parameter earlier: the same message as it was read before.
    init(job: DeliveryJob, readAt: Duration, after earlier: MessageWork? = nil) {
        self.job = job
        self.readAt = readAt
        renderings = earlier?.renderings ?? Renderings()
    }

    func options(on route: Route) -> MessageOptions { job.options(on: route.platform) }

    func life(on route: Route) -> PlatformLife { job.life.under(options(on: route)) }

    /// The renderings for a route. A rendering that contains the remaining seconds is soon outdated; one that contains
    /// the time of expiry is not.
    func variants(
        route: Route, access: RouteAccess, provider: any Provider, now: Timestamp
    ) -> Variants {
        renderings.byKey.withLock { known in
            let key = Renderings.Key(route: route, fingerprint: access.fingerprint)
            if let found = known[key], route.namesExpiry || found.isFresh(at: now) { return found }
            let order = RenderOrder(job, route: route, providerAppID: access.providerAppID, now: now)
            let made = Variants(order: order, provider: provider)
            known[key] = made
            return made
        }
    }
}

/// The messages that were worked on recently, and the switches that interrupt them. The least recently used are
/// dropped.
final class MessageCache: Sendable {
    private struct State {
        var works: [MessageID: (work: MessageWork, usedAt: Int)] = [:]
        var uses = 0
        var interruptions = 0
        var controls: [MessageID: [ObjectIdentifier: SendControl]] = [:]
        var isStopping = false

        /// Drops a quarter, so that this search is rare.
        mutating func dropOldest() {
            let ages = works.values.map(\.usedAt).sorted()
            let limit = ages[ages.count / 4]
            works = works.filter { $0.value.usedAt > limit }
        }
    }

    private let state = Mutex(State())

    /// The message as it was read at `notBefore` or later; with nil, at any time.
    func work(_ id: MessageID, notBefore: Duration?) -> MessageWork? {
        state.withLock { state in
            guard let found = state.works[id], notBefore.map({ found.work.readAt >= $0 }) ?? true else { return nil }
            state.uses += 1
            state.works[id] = (found.work, state.uses)
            return found.work
        }
    }

    /// Counts interruptions: what was read before one may be outdated.
    var interruptions: Int { state.withLock { $0.interruptions } }

    /// Keeps what was read when `interruptions` had the given value, unless there has been one since.
    func keep(_ job: DeliveryJob, readAt: Duration, readAfter interruptions: Int) -> MessageWork {
        state.withLock { state in
            let work = MessageWork(job: job, readAt: readAt, after: state.works[job.message.id]?.work)
            guard state.interruptions == interruptions else { return work }
            state.uses += 1
            state.works[job.message.id] = (work, state.uses)
            if state.works.count > Limits.messagesCachedMax { state.dropOldest() }
            return work
        }
    }

    /// Drops a message that has ended.
    func drop(_ id: MessageID) { state.withLock { $0.works[id] = nil } }

    /// Makes a switch for one slice of the message. If the process is stopping, it is stopped from the beginning.
    func addControl(_ id: MessageID) -> SendControl {
        let control = SendControl()
        state.withLock { state in
            state.controls[id, default: [:]][ObjectIdentifier(control)] = control
            if state.isStopping { control.stop() }
        }
        return control
    }

    func removeControl(_ control: SendControl, of id: MessageID) {
        state.withLock { state in
            state.controls[id]?[ObjectIdentifier(control)] = nil
            if state.controls[id]?.isEmpty == true { state.controls[id] = nil }
        }
    }

    /// Stops every slice of the message, and discards the state that was read.
    func interrupt(_ id: MessageID) {
        state.withLock { state in
            state.interruptions += 1
            state.works[id] = nil
            state.controls[id]?.values.forEach { $0.stop() }
        }
    }

    /// Stops every slice, and discards what was read.
    func interruptAll() {
        state.withLock { state in
            state.interruptions += 1
            state.works = [:]
            state.controls.values.forEach { $0.values.forEach { $0.stop() } }
        }
    }

    func stopAll() {
        state.withLock { state in
            state.isStopping = true
            state.controls.values.forEach { $0.values.forEach { $0.stop() } }
        }
    }
}
