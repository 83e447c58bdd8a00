internal import HTTPTypes
internal import PealCore

/// Campaigns: each the sum of its messages.
struct NativeCampaigns: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/campaigns", .app(.read), list),
            Endpoint(.get, "\(app)/campaigns/:campaign", .app(.read), get),
        ]
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let app = try call.app().key
        let names = try await services.store.read {
            try $0.campaigns(app: app, after: list.name, limit: list.fetchCount)
        }
        var reports: [CampaignReport] = []
        for name in names { reports.append(try await services.campaigns.report(name, app: app)) }
        return list.answer(reports, cursor: { Array($0.id.utf8) }, json: Self.json)
    }

    private func get(_ call: Call) async throws -> Answer {
        let report = try await services.campaigns.report(call.parameter("campaign"), app: try call.app().key)
        return Answer(.ok, Self.json(report))
    }

    /// Nothing is received or opened before devices tell of it.
    private static func json(_ report: CampaignReport) -> JSON {
        let reasons = report.total.reasons.sorted { $0.key < $1.key }.map { ($0.key, JSON.integer($0.value)) }
        return [
            "id": .string(report.id), "messages": .integer(report.messages),
            "audience": .integer(report.total.devices), "accepted": .integer(report.total.accepted),
            "failed": .integer(report.failed), "pending": .integer(report.total.pending), "received": 0, "opened": 0,
            "reasons": .object(JSON.Members(reasons)),
        ]
    }
}
