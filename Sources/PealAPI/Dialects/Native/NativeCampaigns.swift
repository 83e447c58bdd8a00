internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `GET …/campaigns` and `GET …/campaigns/{id}`: the totals of each campaign's messages.
struct NativeCampaigns: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/campaigns", .app(.read), list),
            Endpoint(.get, "\(app)/campaigns/:campaign", .app(.read), get),
        ]
    }

    /// Lists campaigns by name.
    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let reports = try await services.campaigns.reports(
            after: list.name, limit: list.fetchCount, app: try call.app().key)
        return list.answer(reports, cursor: { Array($0.id.utf8) }, json: Self.json)
    }

    private func get(_ call: Call) async throws -> Answer {
        let report = try await services.campaigns.report(call.parameter("campaign"), app: try call.app().key)
        return Answer(.ok, Self.json(report))
    }

    private static func json(_ report: CampaignReport) -> JSON {
        let reasons = report.total.reasons.sorted { $0.key < $1.key }.map { ($0.key, JSON.integer($0.value)) }
        return [
            "id": .string(report.id), "messages": .integer(report.messages),
            "audience": .integer(report.total.devices), "accepted": .integer(report.total.accepted),
            "failed": .integer(report.failed), "pending": .integer(report.total.pending),
            "received": .integer(report.receipts[.received] ?? 0), "opened": .integer(report.receipts[.opened] ?? 0),
            "content_opened": .integer(report.receipts[.contentOpened] ?? 0),
            "reasons": .object(JSON.Members(reasons)),
        ]
    }
}

extension NativeDocument {
    static let campaigns: [APIOperation] = [
        APIOperation(
            id: "listCampaigns", method: .get, path: "\(app)/campaigns", summary: "List campaigns by name",
            parameters: page(.name), answers: [list(of: "NativeCampaign", NativeReportSchema.campaign)]),
        APIOperation(
            id: "getCampaign", method: .get, path: "\(app)/campaigns/:campaign", summary: "Summarize a campaign",
            answers: [APIAnswer(200, "The totals of its messages.", NativeReportSchema.campaign)]),
    ]
}
