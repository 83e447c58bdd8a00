internal import PealAPI
internal import PealCore
internal import PealDelivery
internal import PealReports
internal import PealStore

/// What operations may ask of the running server.
struct ServerOperations: Operations {
    let store: SQLStore
    let delivery: DeliveryService
    let courier: WebhookCourier

    func readiness() async -> [(subsystem: String, failure: String?)] {
        [
            ("store", await store.isReady() ? nil : "the store does not answer or is not migrated"),
            ("delivery", delivery.isRunning ? nil : "the workers are not running"),
        ]
    }

    func stoppedApps() async -> Int {
        ((try? await store.read { try $0.census() })?.appsStopped) ?? 0
    }

    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)] {
        (try? await store.read { try $0.stoppedCredentials(limit: Limits.credentialsListedMax) }) ?? []
    }

    func metrics() async -> String {
        let census = try? await store.read { try $0.census() }
        let credentials = try? await store.read { try CredentialMetrics($0) }
        return MetricsText.render(
            delivery.metrics.snapshot, webhooks: courier.metrics.snapshot, census: census, credentials: credentials)
    }
}
