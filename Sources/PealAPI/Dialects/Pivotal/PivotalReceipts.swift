internal import HTTPTypes
internal import PealCore

/// `GET /v1/receipts/{id}`: what became of a push. One that was scheduled has its schedule's id too.
struct PivotalReceipts: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.get, "/v1/receipts/:id", .pivotalApplication(.read), get)] }

    private func get(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let name = call.parameter("id")
        let report = try await services.store.read { store in
            let id = try MessageID(name) ?? .named(name, app: app, MessageFilter(), in: store)
            return try id.flatMap { try store.report(app: app, id: $0) }
        }
        guard let report, report.message.dialect == .pivotal else { throw PealError.notFound("receipt") }
        let platforms = report.platforms.map { (PivotalPlatform.os($0.key), $0.value.nativeJSON) }
        return Answer(
            .ok,
            [
                "receipt_id": .string(report.message.id.description), "state": .string(report.message.state.name),
                "devices": .integer(report.total.devices), "counts": report.total.nativeJSON,
                "received": .integer(report.receipts[.received] ?? 0),
                "opened": .integer(report.receipts[.opened] ?? 0),
                "platforms": .object(JSON.Members(platforms.sorted { $0.0 < $1.0 })),
            ])
    }
}
