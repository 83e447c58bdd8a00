internal import PealCore
internal import Synchronization

/// Counts for pages how topics grew. A page does not wait while a large topic is counted, which takes a third of a
/// second for a million subscriptions: the counts of large topics are kept for a while and renewed in the background.
/// Small topics are counted at once.
final class GrowthCounts: Sendable {
    /// A topic as it was counted.
    struct Count: Sendable {
        let growth: TopicGrowth
        let topic: Topic
        let at: Timestamp
    }

    enum Answer: Sendable {
        case counted(Count)
        /// A large topic without a recent count, which is being counted, with the approximate number of its
        /// subscribers.
        case counting(about: Int)
        case unknown
    }

    /// Counting fewer subscribers takes a page less than 10 ms.
    static let directMax = 20_000

    private struct Name: Hashable {
        let app: AppKey
        let topic: ExactText
        let days: Int
    }

    private struct State {
        var kept = SlowResults<Name, Count?>(ageFactor: 100, countMax: 256)
        /// The estimate of each topic that is being counted.
        var running: [Name: Int] = [:]
    }

    private let store: any Store
    private let time: any TimeSource
    private let directMax: Int
    private let state = Mutex(State())

    /// - Parameter directMax: Topics with fewer subscribers are counted at once.
    init(store: any Store, time: any TimeSource, directMax: Int = GrowthCounts.directMax) {
        self.store = store
        self.time = time
        self.directMax = directMax
    }

    /// - Parameter days: how many days the growth covers.
    func growth(app: AppKey, topic: String, days: Int) async throws -> Answer {
        let name = Name(app: app, topic: ExactText(topic), days: days)
        let uptime = time.uptime
        let (recent, counting) = state.withLock { ($0.kept.recent(name, at: uptime), $0.running[name]) }
        if let recent, recent.isFresh || counting != nil { return Self.answer(recent.value) }
        // A running count keeps the store's reader for large reads busy, so nothing else is read.
        if let counting { return .counting(about: counting) }
        let now = time.now
        let about = try await store.read(.heavy) { store in
            var audience = Audience()
            audience.topics = [topic]
            return try store.audienceEstimate(app: app, audience, environment: nil, now: now).values.reduce(0, +)
        }
        guard about >= directMax else { return Self.answer(try await count(name)) }
        startCounting(name, about: about)
        return recent.map { Self.answer($0.value) } ?? .counting(about: about)
    }

    private static func answer(_ count: Count?) -> Answer { count.map(Answer.counted) ?? .unknown }

    private func startCounting(_ name: Name, about: Int) {
        guard state.withLock({ $0.running.updateValue(about, forKey: name) }) == nil else { return }
        // Unstructured, because the page must not wait for it.
        Task {
            let begun = time.uptime
            do {
                let count = try await count(name)
                let end = time.uptime
                state.withLock { state in
                    state.running[name] = nil
                    state.kept.keep(count, for: name, from: begun, to: end)
                }
            } catch {
                // The next view counts again.
                state.withLock { $0.running[name] = nil }
            }
        }
    }

    private func count(_ name: Name) async throws -> Count? {
        let now = time.now
        return try await store.read(.heavy) { store in
            guard let growth = try store.growth(app: name.app, topic: name.topic.text, days: name.days, now: now),
                let topic = try store.topic(app: name.app, name: name.topic.text, now: now)
            else { return nil }
            return Count(growth: growth, topic: topic, at: now)
        }
    }
}
