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
            let order = RenderOrder(job, route: route, providerAppID: access.credential.providerAppID, now: now)
            let made = Variants(order: order, provider: provider)
            known[key] = made
            return made
        }
    }
}

/// The messages that were processed recently or wait in memory, and the switches that interrupt them. Messages that
/// were read too long ago are dropped, and so are the least recently used ones if their texts take too much memory.
final class MessageCache: Sendable {
    /// The longest time for which what was read of a message is used.
    static let life: Duration = .seconds(10)

    private struct State {
        private static let textsSweptMin = Limits.messageTextsCachedMax / 8

        private var works: [MessageID: (work: MessageWork, usedAt: Int)] = [:]
        private var texts = 0
        /// The number of texts above which outdated messages are removed.
        private var textsSwept = textsSweptMin
        private var uses = 0
        var interruptions = 0
        var controls: [MessageID: [ObjectIdentifier: SendControl]] = [:]
        var isStopping = false

        subscript(id: MessageID) -> MessageWork? { works[id]?.work }

        mutating func use(_ work: MessageWork) {
            let id = work.job.message.id
            uses += 1
            if works[id]?.work !== work {
                remove(id)
                texts += work.job.content.textCount
            }
            works[id] = (work, uses)
            guard texts > textsSwept else { return }
            for (id, known) in works where known.work.readAt < work.readAt - MessageCache.life { remove(id) }
            if texts > Limits.messageTextsCachedMax { removeOldest() }
            textsSwept = min(Limits.messageTextsCachedMax, max(Self.textsSweptMin, 2 * texts))
        }

        mutating func remove(_ id: MessageID) {
            if let removed = works.removeValue(forKey: id) { texts -= removed.work.job.content.textCount }
        }

        mutating func removeAll() { (works, texts) = ([:], 0) }

        /// Removes messages with a quarter of all texts, so that this search is rare.
        private mutating func removeOldest() {
            for (id, _) in works.sorted(by: { $0.value.usedAt < $1.value.usedAt }) {
                guard texts > Limits.messageTextsCachedMax * 3 / 4 else { return }
                remove(id)
            }
        }
    }

    private let state = Mutex(State())

    /// The message if it was read at `notBefore` or later; nil accepts any age.
    func work(_ id: MessageID, notBefore: Duration?) -> MessageWork? {
        state.withLock { state in
            guard let work = state[id], notBefore.map({ work.readAt >= $0 }) ?? true else { return nil }
            state.use(work)
            return work
        }
    }

    /// Counts interruptions: what was read before one may be outdated.
    var interruptions: Int { state.withLock { $0.interruptions } }

    /// Keeps what was read when `interruptions` had the given value, unless there has been one since.
    func keep(_ job: DeliveryJob, readAt: Duration, readAfter interruptions: Int) -> MessageWork {
        state.withLock { state in
            let work = MessageWork(job: job, readAt: readAt, after: state[job.message.id])
            if state.interruptions == interruptions { state.use(work) }
            return work
        }
    }

    /// Drops a message that has ended.
    func drop(_ id: MessageID) { state.withLock { $0.remove(id) } }

    /// Creates a switch for one slice of the message. While the process stops, a new switch is already stopped.
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
            state.remove(id)
            state.controls[id]?.values.forEach { $0.stop() }
        }
    }

    /// Stops every slice, and discards what was read.
    func interruptAll() {
        state.withLock { state in
            state.interruptions += 1
            state.removeAll()
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
