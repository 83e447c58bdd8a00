internal import Logging
internal import PealCore
internal import Synchronization

/// What the lanes of one courier share.
final class CourierContext: Sendable {
    let store: any Store
    let transport: any WebhookTransport
    let writer: BodyWriter
    let rules: WebhookRules
    let time: any TimeSource
    let randomness: any Randomness
    let logger: Logger
    let owner: String
    let metrics = WebhookMetrics()
    /// Webhooks that are served at this moment.
    private let served = Mutex<Set<WebhookPlace>>([])
    /// Webhooks whose last requests did not all succeed.
    private let failing = Mutex<Set<WebhookPlace>>([])
    private let stopping = Atomic(false)
    /// Set when the last lane ends.
    let idle = Signal()

    init(
        store: any Store, transport: any WebhookTransport, composers: [Webhook.Kind: any ReportComposer],
        rules: WebhookRules, time: any TimeSource, randomness: any Randomness, logger: Logger
    ) {
        self.store = store
        self.transport = transport
        writer = BodyWriter(composers: composers)
        self.rules = rules
        self.time = time
        self.randomness = randomness
        self.logger = logger
        owner = "courier-" + Hex.encode(randomness.bytes(8))
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }
    func beginStop() { stopping.store(true, ordering: .relaxed) }

    /// Whether somebody serves anything.
    var isIdle: Bool { served.withLock(\.isEmpty) }

    /// Takes a webhook to be served by one lane; false when another has it or there are too many.
    func beginServing(_ place: WebhookPlace) -> Bool {
        served.withLock { $0.count < Limits.webhooksServedMax && $0.insert(place).inserted }
    }

    func endServing(_ place: WebhookPlace) {
        let isLast = served.withLock { places in
            places.remove(place)
            return places.isEmpty
        }
        if isLast { idle.set() }
    }

    /// Requests to be sent to a webhook at once: a receiver in trouble is tried with one.
    func room(for webhook: Webhook) -> Int {
        failing.withLock { $0.contains(webhook.place) } ? 1 : webhook.kind.requestsInFlightMax
    }

    func note(_ place: WebhookPlace, isFailing: Bool) {
        failing.withLock { places in
            if isFailing { places.insert(place) } else { places.remove(place) }
        }
    }
}
