internal import HTTPTypes
internal import PealCore

/// What tells clients which server they talk to.
struct PivotalServer: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    /// From 1.3.2 on the vendor's SDKs report what becomes of notifications.
    private static let version = "1.8.1"

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/v1/version", .everybody) { _ in Answer(.ok, ["version": .string(Self.version)]) },
            Endpoint(.get, "/healthcheck", .everybody, health),
        ]
    }

    /// Under the names of the parts that the original server had.
    private func health(_ call: Call) async throws -> Answer {
        let failures = await services.operations.readiness().filter { $0.failure != nil }.map(\.subsystem)
        let state: JSON = [
            "healthy": .bool(failures.isEmpty),
            "message": .string(failures.isEmpty ? "ok" : "failed: \(failures.joined(separator: ", "))"),
        ]
        return Answer(
            failures.isEmpty ? .ok : .serviceUnavailable,
            ["database": state, "rabbitmq": state, "scheduler-backend": state])
    }
}
