internal import PealCore

/// `campaign_total`: what pruned messages contribute to the totals of their campaigns.
enum CampaignTotalTable {
    static func put(_ report: CampaignReport, app: AppKey, now: Timestamp) -> SQL {
        let receipts = report.receipts.sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, count in
            (String(kind.rawValue), JSON.integer(count))
        }
        let changing: [ColumnValue] = [
            ("messages", report.messages), ("counts", CountsCoding.encode(report.total)),
            ("receipts", JSON.object(JSON.Members(receipts)).bytes), ("pruned_at", now),
        ]
        return """
            INSERT INTO campaign_total \(row: ["app": app, "campaign_id": report.id], changing)
            ON CONFLICT (app, campaign_id) DO UPDATE SET \(set: changing)
            """
    }

    static func total(_ campaign: String, app: AppKey) -> SQL {
        "SELECT messages, counts, receipts FROM campaign_total WHERE app = \(app) AND campaign_id = \(campaign)"
    }

    static func nextTotal(after name: String, app: AppKey) -> SQL {
        """
        SELECT campaign_id FROM campaign_total WHERE app = \(app) AND campaign_id > \(name)
        ORDER BY campaign_id LIMIT 1
        """
    }
}

extension StoreSession {
    func prunedTotal(app: AppKey, campaign: String) throws -> CampaignReport? {
        try connection.first(CampaignTotalTable.total(campaign, app: app)) { row in
            var report = CampaignReport(id: campaign)
            report.messages = try row.next()
            report.total = try CountsCoding.decode(row.next())
            guard let receipts = (try? JSONParser.parse(row.next([UInt8].self), isStored: true))?.objectValue
            else { throw PealError.damaged("the totals of a campaign") }
            for (name, count) in receipts.pairs {
                guard let kind = Int64(name).flatMap(Receipt.Kind.init(rawValue:)) else { continue }
                report.receipts[kind] = count.integerValue.map(Int.init)
            }
            return report
        }
    }

    /// Adds a message that is about to be deleted to the totals that its campaign keeps, and removes it from the
    /// campaign. The campaign ends with its last message.
    /// - Returns: how many rows it changed, approximately.
    func keepFigures(of id: MessageID, _ campaign: String, app: AppKey, now: Timestamp) throws -> Int {
        guard let report = try report(app: app, id: id) else { return 0 }
        var total = try prunedTotal(app: app, campaign: campaign) ?? CampaignReport(id: campaign)
        total.add(report)
        try connection.execute(CampaignTotalTable.put(total, app: app, now: now))
        let count = try keepOutcomes(of: id, campaign, app: app, now: now)
        try connection.execute("UPDATE message SET campaign_id = NULL WHERE \(MessageTable.matching(app, id))")
        try endCampaign(campaign, app: app, now: now)
        return count + 2
    }
}
