internal import PealAPI
internal import PealCore
internal import PealDelivery
internal import PealReports
internal import PealStore

/// Readiness, health and metrics of the running server.
struct ServerOperations: Operations {
    let delivery: DeliveryService
    let courier: WebhookCourier
    let connections: Connections
    let failures: AuthenticationFailures
    let http: HTTPMetrics
    let isPaused: Bool
    let time: any TimeSource
    /// Whether the store has this program's schema.
    private let schema: StoreProbe<Bool>
    private let facts: StoreProbe<StoreFacts>
    /// How old facts may be that are used while the store is late.
    private static let factsAgeMax = Duration.seconds(60)

    init(
        store: SQLStore, delivery: DeliveryService, courier: WebhookCourier, connections: Connections,
        failures: AuthenticationFailures, http: HTTPMetrics, isPaused: Bool, time: any TimeSource
    ) {
        self.delivery = delivery
        self.courier = courier
        self.connections = connections
        self.failures = failures
        self.http = http
        self.isPaused = isPaused
        self.time = time
        schema = StoreProbe(time: time) { try await store.hasNewestSchema() }
        facts = StoreProbe(time: time) {
            let snapshot = delivery.metrics.snapshot
            let apps = Set(snapshot.byApp.keys.map(\.app)).union(snapshot.reasons.keys.map(\.app))
            return try await store.read(.request) { try StoreFacts($0, apps: apps) }
        }
    }

    func readiness() async -> [(subsystem: String, failure: String?)] {
        // Checked first, because a locked store answers late.
        var failure = writeFailure
        if failure == nil { failure = await readFailure() }
        return [
            ("store", failure), ("delivery", delivery.isRunning ? nil : "the workers are not running"),
        ]
    }

    /// Why the delivery cannot write; nil if it can. A paused engine writes nothing.
    private var writeFailure: String? { delivery.isRunning && !isPaused ? delivery.storeFailure : nil }

    /// Why the store cannot be read; nil if it can.
    private func readFailure() async -> String? {
        switch await schema.answer() {
        case .value(true): nil
        case .value(false), .failed: "the store does not respond, or is not migrated"
        case .late(let silence): "the store has not answered for \(silence.components.seconds) s"
        }
    }

    func stoppedApps() async -> Int { await knownFacts()?.census.appsStopped ?? 0 }

    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)] { await knownFacts()?.stopped ?? [] }

    func metrics() async -> String {
        Metric.page(
            MetricsFacts(
                now: time.now, delivery: delivery.metrics.snapshot, webhooks: courier.metrics.snapshot,
                connections: connections.snapshot, failures: failures.snapshot, http: http.snapshot,
                process: .current, isPaused: isPaused, isStoreWritable: writeFailure == nil, store: await knownFacts()))
    }

    func details() async -> JSON.Members {
        var members = JSON.Members([
            ("version", .string(PealVersion.current)),
            ("started_at", .string(Timestamp(milliseconds: Int64(ProcessFigures.startedAt * 1000)).description)),
            ("paused", .bool(isPaused)),
            ("connections", .integer(connections.snapshot.served)),
        ])
        if let bytes = ProcessFigures.current.residentBytes { members["memory_bytes"] = .integer(bytes) }
        guard let facts = await knownFacts() else { return members }
        if let bytes = facts.bytes { members["store_bytes"] = .integer(bytes) }
        members["messages"] = [
            "unfinished": .integer(facts.census.messagesUnfinished),
            "scheduled": .integer(facts.census.messagesScheduled),
            "oldest_pending_at": facts.census.oldestPendingAt.map { JSON.string($0.description) } ?? .null,
        ]
        members["quarantined_slices"] = .integer(facts.census.slicesQuarantined)
        members["closed_routes"] = .array(
            facts.parked.map { parked in
                [
                    "app": .string(parked.app.description),
                    "provider": .string(parked.route.provider?.rawValue ?? "none"),
                    "environment": .string(parked.route.environment.rawValue),
                    "platform": .string(parked.route.platform.rawValue),
                    "state": parked.isStopped ? "stopped" : "paused", "slices": .integer(parked.slices),
                    "oldest_pending_at": .string(parked.oldestAt.description),
                ]
            })
        return members
    }
}

extension ServerOperations {
    /// What the store knows; nil when it does not respond.
    private func knownFacts() async -> StoreFacts? {
        switch await facts.answer() {
        case .value(let facts): facts
        case .failed: nil
        case .late: facts.last(within: Self.factsAgeMax)
        }
    }
}
