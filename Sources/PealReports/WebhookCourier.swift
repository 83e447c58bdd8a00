package import Logging
package import PealCore
internal import ServiceLifecycle
internal import Synchronization

/// Sends the events in the outbox to webhooks, and retries for a day until the receiver accepts them.
///
/// Each webhook has its own lane, so that a slow receiver delays no other. All state is in the store: an event becomes
/// a delivery in one transaction, and a delivery is leased while it is sent. After a crash it is sent again under the
/// same id, and several processes that use one database share the work.
package final class WebhookCourier: Service {
    /// How long a stop waits for requests in flight.
    private static let drain: Duration = .seconds(5)
    private static let poll: Duration = .milliseconds(Limits.webhookPollMilliseconds)

    private let context: CourierContext
    private let isOnlyProcess: Bool
    private let stop = Signal()

    /// - Parameters:
    ///   - composers: compose the reports of messages, and determine the requests of each kind of webhook.
    ///   - randomness: generates the ids of this process and its deliveries, and spreads retries.
    ///   - isOnlyProcess: whether no other process can hold a lease. Then a start takes back all leases.
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

    /// Replaces the rules for the next requests.
    package func setRules(_ rules: WebhookRules) { context.setRules(rules) }

    /// Runs until a graceful shutdown begins or the task is cancelled.
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

    /// Sends whatever is due, and returns when that is done.
    func runOnce() async {
        await withDiscardingTaskGroup { lanes in await beginRound(&lanes) }
    }

    /// Starts a lane for each webhook that is due and not being served.
    private func beginRound(_ lanes: inout DiscardingTaskGroup) async {
        let due: [WebhookReference]
        do {
            let now = context.time.now
            due = try await context.store.read { try $0.dueWebhooks(now: now) }
        } catch {
            if context.outages.isDue(error) {
                context.logger.error("cannot look up due webhooks", metadata: ["error": "\(error)"])
            }
            return
        }
        // Starts at a random webhook, so that none is always last when there are more than can be served.
        let start = due.isEmpty ? 0 : Int(context.randomness.next() % UInt64(due.count))
        for reference in due[start...] + due[..<start] where context.beginServing(reference) {
            let context = context
            lanes.addTask {
                await WebhookLane(context: context, reference: reference).run()
                context.endServing(reference)
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
            if context.outages.isDue(error) {
                context.logger.error(
                    "cannot take back the leases of webhook deliveries", metadata: ["error": "\(error)"])
            }
        }
    }
}

/// What the lanes of one courier share.
final class CourierContext: Sendable {
    let store: any Store
    let transport: any WebhookTransport
    let composers: ReportComposers
    private let currentRules: Mutex<WebhookRules>
    let time: any TimeSource
    let randomness: any Randomness
    let logger: Logger
    let outages: OutageLog
    let owner: String
    let metrics = WebhookMetrics()
    var rules: WebhookRules { currentRules.withLock { $0 } }

    func setRules(_ rules: WebhookRules) { currentRules.withLock { $0 = rules } }

    /// Webhooks being served.
    private let served = Mutex<Set<WebhookReference>>([])
    /// Webhooks with a failure among their last requests.
    private let failing = Mutex<Set<WebhookReference>>([])
    /// Webhooks that could not be served although the store works, and until when they are left out (on
    /// `TimeSource.uptime`).
    private let excluded = Mutex<[WebhookReference: Duration]>([:])
    private static let setAsideFor: Duration = .seconds(60)
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
        currentRules = Mutex(rules)
        self.time = time
        self.randomness = randomness
        self.logger = logger
        outages = OutageLog(time: time)
        owner = "courier-" + Hex.encode(randomness.bytes(8))
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }
    func beginStop() { stopping.store(true, ordering: .relaxed) }

    /// Whether no webhook is being served.
    var isIdle: Bool { served.withLock(\.isEmpty) }

    /// Reserves a webhook for one lane. Returns false when another lane has it, it is set aside, or there are too many.
    /// Those that fail get half of the slots: a receiver that never answers has its slot for a long time.
    func beginServing(_ reference: WebhookReference) -> Bool {
        let now = time.uptime
        guard excluded.withLock({ $0[reference].map { $0 <= now } ?? true }), !mustYield(reference) else {
            return false
        }
        return served.withLock { $0.count < Limits.webhooksServedMax && $0.insert(reference).inserted }
    }

    /// Whether the webhook fails, and those that fail use their half of the slots. Then each of them gives its slot up
    /// after a round.
    func mustYield(_ reference: WebhookReference) -> Bool {
        let failing = failing.withLock { $0 }
        guard failing.contains(reference) else { return false }
        return served.withLock { $0.count(where: failing.contains) } >= Limits.webhooksServedMax / 2
    }

    /// Skips a webhook for a while, because one that cannot be read would fail in each round.
    func setAside(_ reference: WebhookReference) {
        let now = time.uptime
        excluded.withLock { references in
            references = references.filter { $0.value > now }
            references[reference] = now + Self.setAsideFor
        }
    }

    func endServing(_ reference: WebhookReference) {
        let isLast = served.withLock { references in
            references.remove(reference)
            return references.isEmpty
        }
        if isLast { idle.set() }
    }

    /// How many requests to send to a webhook at once: one while its receiver fails.
    func room(for webhook: Webhook, _ form: Webhook.Form) -> Int {
        failing.withLock { $0.contains(webhook.reference) } ? 1 : form.requestsInFlightMax
    }

    func note(_ reference: WebhookReference, isFailing: Bool) {
        failing.withLock { references in
            // Deleted webhooks stay until the set is full. Then it is emptied, and webhooks that still fail are added
            // again.
            if isFailing, references.count >= Limits.webhooksFailingMax { references = [] }
            if isFailing { references.insert(reference) } else { references.remove(reference) }
        }
    }
}

/// Counts delivery attempts by outcome since the start.
package final class WebhookMetrics: Sendable {
    private let state = Mutex(Snapshot())

    package init() {}

    /// The counts at one instant. They only grow.
    package struct Snapshot: Sendable, Hashable {
        package internal(set) var delivered = 0
        /// Failed attempts that are followed by another.
        package internal(set) var retried = 0
        package internal(set) var failed = 0
    }

    package var snapshot: Snapshot { state.withLock { $0 } }

    func change(_ body: (inout Snapshot) -> Void) { state.withLock { body(&$0) } }
}
