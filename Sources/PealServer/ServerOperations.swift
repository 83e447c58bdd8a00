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
    let time: any TimeSource
    private let recent = RecentCounts()

    func readiness() async -> [(subsystem: String, failure: String?)] {
        // First, because a locked store answers late.
        var failure = delivery.isRunning ? delivery.storeFailure : nil
        if failure == nil, await !store.isReady() { failure = "the store does not respond, or is not migrated" }
        return [
            ("store", failure), ("delivery", delivery.isRunning ? nil : "the workers are not running"),
        ]
    }

    func stoppedApps() async -> Int {
        await counts(.request)?.census.appsStopped ?? 0
    }

    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)] {
        (try? await store.read { try $0.stoppedCredentials(limit: Limits.credentialsListedMax) }) ?? []
    }

    func metrics() async -> String {
        let counts = await counts(.request)
        return MetricsText.render(
            delivery.metrics.snapshot, webhooks: courier.metrics.snapshot, census: counts?.census,
            credentials: counts?.credentials)
            + RouteMetrics(parked: counts?.parked ?? [], now: time.now).text
            + MetricsText.door(connections.snapshot, failures.snapshot)
    }
}

extension ServerOperations {
    /// Counts of the store; nil when it does not respond. Anybody may request metrics and health as often as they like,
    /// so counts are used again for half a second.
    private func counts(_ lane: ReadLane) async -> RecentCounts.Counts? {
        let now = time.uptime
        if let known = recent.counts(at: now) { return known }
        let counts = try? await store.read(lane) { store in
            RecentCounts.Counts(
                census: try store.census(), credentials: try CredentialMetrics(store),
                parked: try store.parkedRoutes(limit: Limits.routesMeasured))
        }
        if let counts { recent.keep(counts, at: now) }
        return counts
    }
}

/// The last counts of the store.
final class RecentCounts: Sendable {
    struct Counts: Sendable {
        let census: StoreCensus
        let credentials: CredentialMetrics
        let parked: [ParkedRoute]
    }

    private static let lasts = Duration.milliseconds(500)

    private let kept = Mutex<(counts: Counts, at: Duration)?>(nil)

    func counts(at now: Duration) -> Counts? {
        kept.withLock { kept in kept.flatMap { now - $0.at < Self.lasts ? $0.counts : nil } }
    }

    func keep(_ counts: Counts, at now: Duration) { kept.withLock { $0 = (counts, now) } }
}

/// Prometheus' text format, version 0.0.4. Labels contain no names, users, addresses or provider texts.
enum MetricsText {
    static func render(
        _ delivery: DeliveryMetrics.Snapshot, webhooks: WebhookMetrics.Snapshot, census: StoreCensus?,
        credentials: CredentialMetrics?
    ) -> String {
        var text = ""
        family("peal_notifications_total", "counter", "Finished notifications, by provider and outcome.", into: &text)
        for (series, count) in delivery.notifications.sorted(by: { name($0.key) < name($1.key) }) {
            text += "peal_notifications_total{\(name(series))} \(count)\n"
        }
        single("peal_pages_total", "counter", "Pages handed to providers.", delivery.pages, into: &text)
        single("peal_settles_total", "counter", "Settlements written.", delivery.settles, into: &text)
        single(
            "peal_settles_refused_total", "counter", "Settlements refused because the lease was lost.",
            delivery.settlesRefused, into: &text)
        single(
            "peal_settles_failed_total", "counter", "Writes of settlements that failed and were tried again.",
            delivery.settlesFailed, into: &text)
        single(
            "peal_resent_total", "counter",
            "Devices sent to again although an earlier request may have reached them.", delivery.resent, into: &text)
        single("peal_retries_total", "counter", "Devices scheduled for another attempt.", delivery.retries, into: &text)
        single(
            "peal_stragglers_total", "counter", "Devices whose answer came after their page was settled.",
            delivery.stragglers,
            into: &text)
        single(
            "peal_pages_lent_total", "counter", "Pages without an answer for a second whose slot was lent to others.",
            delivery.pagesLent, into: &text)
        single("peal_breaker_trips_total", "counter", "Routes paused or stopped.", delivery.breakerTrips, into: &text)
        single("peal_wakes_total", "counter", "Wake-up pushes sent to apps.", delivery.wakesSent, into: &text)
        single(
            "peal_wakes_accepted_total", "counter", "Wake-up pushes that push networks accepted.",
            delivery.wakesAccepted, into: &text)
        single(
            "peal_leases_taken_back_total", "counter", "Leases taken back from processes that have ended.",
            delivery.leasesTakenBack, into: &text)
        single(
            "peal_leases_extended_total", "counter", "Leases extended without a settlement.",
            delivery.leasesExtended, into: &text)
        single(
            "peal_credentials_ending", "gauge", "Credentials that expire within 30 days.", delivery.credentialsEnding,
            into: &text)
        single(
            "peal_credentials_ended", "gauge", "Expired credentials.", delivery.credentialsEnded, into: &text)
        render(webhooks, into: &text)
        single("peal_store_up", "gauge", "Whether the store responds.", census == nil ? 0 : 1, into: &text)
        if let census { render(census, into: &text) }
        if let credentials { text += credentials.text }
        return text
    }

    /// Connections and authentication.
    static func door(_ connections: Connections.Snapshot, _ failures: AuthenticationFailures.Snapshot) -> String {
        var text = ""
        single("peal_http_connections", "gauge", "Connections of clients.", connections.served, into: &text)
        single(
            "peal_http_connections_refused_total", "counter", "Connections refused because there were too many.",
            connections.refusedTotal, into: &text)
        single(
            "peal_authentication_failures_total", "counter", "Requests with an unknown key or a wrong secret.",
            failures.failures, into: &text)
        single(
            "peal_authentication_refused_total", "counter", "Requests refused because of earlier failures.",
            failures.refused, into: &text)
        return text
    }

    private static func render(_ webhooks: WebhookMetrics.Snapshot, into text: inout String) {
        let name = "peal_webhook_deliveries_total"
        family(name, "counter", "Delivery attempts to webhooks, by outcome.", into: &text)
        let outcomes = [
            ("delivered", webhooks.delivered), ("retried", webhooks.retried), ("failed", webhooks.failed),
        ]
        for (outcome, count) in outcomes { text += "\(name){outcome=\"\(outcome)\"} \(count)\n" }
    }

    private static func render(_ census: StoreCensus, into text: inout String) {
        single("peal_messages_unfinished", "gauge", "Unfinished messages.", census.messagesUnfinished, into: &text)
        single("peal_slices_ready", "gauge", "Slices ready to be leased.", census.slicesReady, into: &text)
        single("peal_slices_waiting", "gauge", "Slices that are due later.", census.slicesWaiting, into: &text)
        single("peal_slices_leased", "gauge", "Leased slices.", census.slicesLeased, into: &text)
        single(
            "peal_slices_parked", "gauge", "Slices that wait for their route to open.", census.slicesParked, into: &text
        )
        single(
            "peal_slices_ending", "gauge", "Slices of ended messages, ready to be leased.", census.slicesEnding,
            into: &text)
        single(
            "peal_slices_quarantined", "gauge", "Slices whose results cannot be stored.", census.slicesQuarantined,
            into: &text)
        single("peal_apps_stopped", "gauge", "Apps with a stopped provider.", census.appsStopped, into: &text)
    }

    private static func single(
        _ name: String, _ type: String, _ meaning: String, _ value: Int, into text: inout String
    ) {
        family(name, type, meaning, into: &text)
        text += "\(name) \(value)\n"
    }

    /// The HELP and TYPE lines of a metric.
    static func family(_ name: String, _ type: String, _ meaning: String, into text: inout String) {
        text += "# HELP \(name) \(meaning)\n# TYPE \(name) \(type)\n"
    }

    private static func name(_ series: DeliveryMetrics.Series) -> String {
        "provider=\"\(series.provider?.rawValue ?? "none")\",outcome=\"\(series.outcome.name)\""
    }
}

/// Metrics of closed routes on which something waits, by app id: at most `Limits.routesMeasured` of them, so that the
/// number of series is bounded.
struct RouteMetrics {
    let parked: [ParkedRoute]
    let now: Timestamp

    /// In Prometheus' format.
    var text: String {
        var text = ""
        var name = "peal_route_slices_parked"
        MetricsText.family(name, "gauge", "Slices that wait for one route to open.", into: &text)
        for route in parked { text += "\(name){\(Self.labels(route))} \(route.slices)\n" }
        name = "peal_route_oldest_pending_seconds"
        MetricsText.family(
            name, "gauge", "How long ago the oldest message that waits for the route was accepted.", into: &text)
        for route in parked {
            let seconds = max(0, (now - route.oldestAt).components.seconds)
            text += "\(name){\(Self.labels(route))} \(seconds)\n"
        }
        return text
    }

    private static func labels(_ parked: ParkedRoute) -> String {
        "app=\"\(parked.app)\",provider=\"\(parked.route.provider?.rawValue ?? "none")\""
            + ",environment=\"\(parked.route.environment.rawValue)\",platform=\"\(parked.route.platform)\""
    }
}

/// Metrics of credentials, by app id.
struct CredentialMetrics: Sendable {
    typealias Listed = (app: AppID, record: CredentialRecord)

    /// Credentials with an expiry.
    let ending: [Listed]
    let stopped: [Listed]

    /// Both lists have at most `Limits.credentialsListedMax` items.
    init(_ store: any StoreReading) throws {
        ending = try store.endingCredentials(limit: Limits.credentialsListedMax)
        stopped = try store.stoppedCredentials(limit: Limits.credentialsListedMax)
    }

    /// In Prometheus' format.
    var text: String {
        var text = ""
        var name = "peal_credential_expires_at_seconds"
        MetricsText.family(name, "gauge", "When a credential expires, in seconds since 1970.", into: &text)
        for listed in ending {
            text += "\(name){\(Self.labels(listed))} \(listed.record.expiresAt?.seconds ?? 0)\n"
        }
        name = "peal_credential_stopped"
        MetricsText.family(name, "gauge", "1 for each credential that its push network rejects.", into: &text)
        for listed in stopped { text += "\(name){\(Self.labels(listed))} 1\n" }
        return text
    }

    private static func labels(_ listed: Listed) -> String {
        "app=\"\(listed.app)\",provider=\"\(listed.record.provider.rawValue)\""
            + ",environment=\"\(listed.record.environment.rawValue)\""
    }
}
