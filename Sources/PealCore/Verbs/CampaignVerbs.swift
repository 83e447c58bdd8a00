/// Sums up campaigns.
package struct CampaignVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// The sum over the campaign's messages that are still stored, read a page at a time.
    /// - Throws: `not_found` for a campaign without any.
    package func report(_ id: String, app: AppKey) async throws -> CampaignReport {
        var report = CampaignReport(id: id)
        var cursor: MessageID?
        repeat {
            let before = cursor
            let page = try await store.read { store in
                try store.messages(
                    app: app, MessageFilter(campaignID: id), before: before, limit: Limits.listItemsMax
                ).map { message in
                    try store.report(app: app, id: message.id) ?? MessageReport(message: message, platforms: [:])
                }
            }
            for item in page {
                report.total.add(item.total)
                report.receipts.merge(item.receipts, uniquingKeysWith: +)
            }
            report.messages += page.count
            cursor = page.count < Limits.listItemsMax ? nil : page.last?.message.id
        } while cursor != nil
        guard report.messages > 0 else { throw PealError.notFound("campaign") }
        return report
    }

    /// The sums of the campaigns that come after `name`, by name; one whose last message goes meanwhile is left out.
    package func reports(after name: String?, limit: Int, app: AppKey) async throws -> [CampaignReport] {
        var reports: [CampaignReport] = []
        var last = name
        while reports.count < limit {
            let (after, wanted) = (last, limit - reports.count)
            let ids = try await store.read { try $0.campaignIDs(app: app, after: after, limit: wanted) }
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
