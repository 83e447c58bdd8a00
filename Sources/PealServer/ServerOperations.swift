internal import PealAPI
internal import PealCore
internal import PealDelivery
internal import PealReports
internal import PealStore
internal import Synchronization

/// Readiness, health and metrics of the running server.
struct ServerOperations: Operations {
    let store: SQLStore
    let delivery: DeliveryService
    let courier: WebhookCourier
    let connections: Connections
    let failures: AuthenticationFailures
    let http: HTTPMetrics
    let isPaused: Bool
    let time: any TimeSource
    private let recent = RecentFacts()

    func readiness() async -> [(subsystem: String, failure: String?)] {
        // Checked first, because a locked store answers late.
        var failure = writeFailure
        if failure == nil, await !store.isReady() { failure = "the store does not respond, or is not migrated" }
        return [
            ("store", failure), ("delivery", delivery.isRunning ? nil : "the workers are not running"),
        ]
    }

    /// Why the delivery cannot write; nil if it can. A paused engine writes nothing.
    private var writeFailure: String? { delivery.isRunning && !isPaused ? delivery.storeFailure : nil }

    func stoppedApps() async -> Int { await facts()?.census.appsStopped ?? 0 }

    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)] {
        (try? await store.read { try $0.stoppedCredentials(limit: Limits.credentialsListedMax) }) ?? []
    }

    func metrics() async -> String {
        Metric.page(
            MetricsFacts(
                now: time.now, delivery: delivery.metrics.snapshot, webhooks: courier.metrics.snapshot,
                connections: connections.snapshot, failures: failures.snapshot, http: http.snapshot,
                process: .current, isPaused: isPaused, isStoreWritable: writeFailure == nil, store: await facts()))
    }

    func details() async -> JSON.Members {
        var members = JSON.Members([
            ("version", .string(PealVersion.current)),
            ("started_at", .string(Timestamp(milliseconds: Int64(ProcessFigures.startedAt * 1000)).description)),
            ("paused", .bool(isPaused)),
            ("connections", .integer(connections.snapshot.served)),
        ])
        if let bytes = ProcessFigures.current.residentBytes { members["memory_bytes"] = .integer(bytes) }
        guard let facts = await facts() else { return members }
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
    /// What the store knows; nil when it does not respond. Clients may request metrics and health at any rate, so the
    /// facts are reused for half a second.
    private func facts() async -> StoreFacts? {
        let now = time.uptime
        if let known = recent.facts(at: now) { return known }
        let snapshot = delivery.metrics.snapshot
        let apps = Set(snapshot.byApp.keys.map(\.app)).union(snapshot.reasons.keys.map(\.app))
        let facts = try? await store.read(.request) { try StoreFacts($0, apps: apps) }
        if let facts { recent.keep(facts, at: now) }
        return facts
    }
}

/// The facts that were read last.
final class RecentFacts: Sendable {
    private static let lasts = Duration.milliseconds(500)

    private let kept = Mutex<(facts: StoreFacts, at: Duration)?>(nil)

    func facts(at now: Duration) -> StoreFacts? {
        kept.withLock { kept in kept.flatMap { now - $0.at < Self.lasts ? $0.facts : nil } }
    }

    func keep(_ facts: StoreFacts, at now: Duration) { kept.withLock { $0 = (facts, now) } }
}
