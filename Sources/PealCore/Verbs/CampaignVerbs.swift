/// Reports the totals of campaigns.
package struct CampaignVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// How often a report starts again because messages were pruned while it was read.
    private static let attemptsMax = 3

    /// The totals of the campaign's messages: of those that are stored, read page by page, and of those that were
    /// pruned.
    /// - Throws: `not_found` for a campaign that never had messages.
    package func report(_ id: String, app: AppKey) async throws -> CampaignReport {
        for _ in 1..<Self.attemptsMax {
            if let report = try await attempt(id, app: app, isLast: false) { return report }
        }
        guard let report = try await attempt(id, app: app, isLast: true) else { throw PealError.notFound("campaign") }
        return report
    }

    /// - Returns: nil if a message was pruned meanwhile, which the sum may contain twice, and `isLast` is false.
    private func attempt(_ id: String, app: AppKey, isLast: Bool) async throws -> CampaignReport? {
        let pruned = try await store.read { try $0.prunedTotal(app: app, campaign: id) }
        var report = pruned ?? CampaignReport(id: id)
        var isSame = true
        var cursor: MessageID?
        repeat {
            let before = cursor
            let (page, prunedNow) = try await store.read(.heavy) { store in
                (
                    try store.messages(
                        app: app, MessageFilter(campaignID: id), before: before, limit: Limits.listItemsMax
                    ).map { try store.report(of: $0) },
                    try store.prunedTotal(app: app, campaign: id)
                )
            }
            isSame = prunedNow == pruned
            for message in page { report.add(message) }
            cursor = page.count < Limits.listItemsMax ? nil : page.last?.message.id
        } while cursor != nil && (isSame || isLast)
        guard isSame || isLast else { return nil }
        guard report.messages > 0 else { throw PealError.notFound("campaign") }
        return report
    }

    /// The totals of the campaigns after `name`, by name. Leaves out a campaign whose last message is deleted
    /// meanwhile.
    package func reports(after name: String?, limit: Int, app: AppKey) async throws -> [CampaignReport] {
        var reports: [CampaignReport] = []
        var last = name
        while reports.count < limit {
            let (after, wanted) = (last, limit - reports.count)
            let ids = try await store.read(.heavy) { try $0.campaignIDs(app: app, after: after, limit: wanted) }
            for id in ids {
                do {
                    reports.append(try await report(id, app: app))
                } catch let error as PealError where error.code == .notFound {
                    continue
                }
            }
            guard ids.count == wanted else { break }
            last = ids.last
        }
        return reports
    }
}
