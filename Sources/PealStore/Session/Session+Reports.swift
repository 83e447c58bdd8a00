internal import PealCore

extension StoreSession {
    func report(app: AppKey, id: MessageID) throws -> MessageReport? {
        guard let message = try message(app: app, id: id) else { return nil }
        var platforms: [Platform: OutcomeCounts] = [:]
        for (route, counts) in try routeCounts(message) {
            platforms[route.platform, default: .init()].add(counts)
        }
        return MessageReport(
            message: message, platforms: platforms, receipts: try receiptCounts(app: app, message: id))
    }

    /// One step of the index for each name: a campaign may have any number of messages.
    func campaignIDs(app: AppKey, after name: String?, limit: Int) throws -> [String] {
        var names: [String] = []
        while names.count < limit {
            let last = names.last ?? name ?? ""
            let next = try connection.first(SearchSQL.nextCampaign, [.int(app), .text(last)]) { $0.text(0) }
            guard let next else { break }
            names.append(next)
        }
        return names
    }

    /// By route: what was folded at the end, else the sum of the slices.
    private func routeCounts(_ message: Message) throws -> [Route: OutcomeCounts] {
        let folded = try connection.first(
            "SELECT counts FROM message WHERE app = $1 AND message = $2", [.int(message.app), .id(message.id)]
        ) { $0.bytesIfPresent(0) }
        if let bytes = folded ?? nil { return try CountsCoding.decodeRoutes(bytes) }
        return try openCounts(message)
    }

    /// Of a message that has not ended: its users where it has a window, else what its slices say.
    func openCounts(_ message: Message) throws -> [Route: OutcomeCounts] {
        try message.windowUntil == nil
            ? sliceCounts(app: message.app, id: message.id) : momentCounts(app: message.app, id: message.id)
    }

    /// The sum of a message's slices by route. What a slice still holds is what its worker last said, else its estimate
    /// without what is settled.
    func sliceCounts(app: AppKey, id: MessageID) throws -> [Route: OutcomeCounts] {
        var routes: [Route: OutcomeCounts] = [:]
        try connection.query(
            "SELECT route, counts, estimate, state FROM slice WHERE app = $1 AND message = $2", [.int(app), .id(id)]
        ) { row in
            var counts = try CountsCoding.decode(row.bytes(1))
            let isDone = row.int(3) == SliceRow.stateDone
            if isDone {
                counts.pending = 0
            } else if counts.pending == 0 {
                counts.pending = max(0, Int(row.int(2)) - counts.settled)
            }
            routes[try row.route(0), default: .init()].add(counts)
        }
        return routes
    }
}
