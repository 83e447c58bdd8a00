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
                ).map { message in (message.id, try store.report(app: app, id: message.id)?.total ?? .init()) }
            }
            for (_, counts) in page { report.total.add(counts) }
            report.messages += page.count
            cursor = page.count < Limits.listItemsMax ? nil : page.last?.0
        } while cursor != nil
        guard report.messages > 0 else { throw PealError.notFound("campaign") }
        return report
    }
}
