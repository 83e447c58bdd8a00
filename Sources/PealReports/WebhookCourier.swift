package import Logging
package import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// Takes what waits in the outbox and carries it to webhooks until each receiver has confirmed it, for a day.
///
/// Each webhook is served by a lane of its own, so that a slow receiver delays nobody else's. It holds no truth: an
/// event becomes a delivery in one transaction, and a delivery is leased while it is sent, so that after a crash it is
/// sent again under the same id, and several processes on one database share the work.
package final class WebhookCourier: Service {
    /// How long a stop waits for requests on the wire.
    private static let drain: Duration = .seconds(5)
    private static let poll: Duration = .milliseconds(Limits.webhookPollMilliseconds)

    private let context: CourierContext
    private let isOnlyProcess: Bool
    private let stop = Signal()

    /// - Parameters:
    ///   - composers: Compose the reports of messages, and say how the requests of each kind of webhook look.
    ///   - randomness: Names this process and its deliveries, and spreads retries.
    ///   - isOnlyProcess: Whether no other process can hold a lease, so that a start takes back all of them.
    package init(
        store: any Store, transport: any WebhookTransport, composers: ReportComposers,
        rules: WebhookRules, time: any TimeSource, randomness: any Randomness,
        logger: Logger = Logger(label: "peal.webhooks"), isOnlyProcess: Bool = true
    ) {
        context = CourierContext(
            store: store, transport: transport, composers: composers, rules: rules, time: time,
            randomness: randomness, logger: logger)
        self.isOnlyProcess = isOnlyProcess
    }

    package var metrics: WebhookMetrics { context.metrics }

    /// Works until a graceful shutdown begins or the task is cancelled.
    package func run() async {
        await takeBack()
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { lanes in
                while !context.isStopping, !Task.isCancelled {
                    await beginRound(&lanes)
                    await context.transport.tidy()
                    await stop.wait(atMost: Self.poll, on: context.time)
                }
                await drain()
                lanes.cancelAll()
            }
            await context.transport.close()
        } onGracefulShutdown: {
            self.context.beginStop()
            self.stop.set()
        }
    }

    /// Serves once whatever is due, and returns when that is done.
    func runOnce() async {
        await withDiscardingTaskGroup { lanes in await beginRound(&lanes) }
    }

    /// Starts a lane for each webhook that is due and not being served.
    private func beginRound(_ lanes: inout DiscardingTaskGroup) async {
        let due: [WebhookPlace]
        do {
            let now = context.time.now
            due = try await context.store.read { try $0.dueWebhooks(now: now) }
        } catch {
            context.logger.error("due webhooks could not be looked up", metadata: ["error": "\(error)"])
            return
        }
        // From anywhere on, so that none is always the last where there are more than can be served.
        let start = due.isEmpty ? 0 : Int(context.randomness.next() % UInt64(due.count))
        for place in due[start...] + due[..<start] where context.beginServing(place) {
            let context = context
            lanes.addTask {
                await WebhookLane(context: context, place: place).run()
                context.endServing(place)
            }
        }
    }

    private func drain() async {
        guard !context.isIdle, !Task.isCancelled else { return }
        await context.time.race(atMost: Self.drain) { [context] in
            while !context.isIdle, !Task.isCancelled { await context.idle.wait() }
        }
    }

    private func takeBack() async {
        guard isOnlyProcess else { return }
        do {
            try await context.store.write(.control) { try $0.takeBackDeliveries() }
        } catch {
            context.logger.error("leases of deliveries could not be taken back", metadata: ["error": "\(error)"])
        }
    }
}

/// What the lanes of one courier share.
final class CourierContext: Sendable {
    let store: any Store
    let transport: any WebhookTransport
    let composers: ReportComposers
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
        store: any Store, transport: any WebhookTransport, composers: ReportComposers,
        rules: WebhookRules, time: any TimeSource, randomness: any Randomness, logger: Logger
    ) {
        self.store = store
        self.transport = transport
        self.composers = composers
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
    func room(for webhook: Webhook, _ form: Webhook.Form) -> Int {
        failing.withLock { $0.contains(webhook.place) } ? 1 : form.requestsInFlightMax
    }

    func note(_ place: WebhookPlace, isFailing: Bool) {
        failing.withLock { places in
            if isFailing { places.insert(place) } else { places.remove(place) }
        }
    }
}

/// Counts what became of attempts at deliveries since the start.
package final class WebhookMetrics: Sendable {
    private let state = Mutex(Snapshot())

    package init() {}

    /// One instant's counts, all growing.
    package struct Snapshot: Sendable, Hashable {
        package internal(set) var delivered = 0
        /// Attempts after which another follows.
        package internal(set) var retried = 0
        package internal(set) var failed = 0
    }

    package var snapshot: Snapshot { state.withLock { $0 } }

    func change(_ body: (inout Snapshot) -> Void) { state.withLock { body(&$0) } }
}
