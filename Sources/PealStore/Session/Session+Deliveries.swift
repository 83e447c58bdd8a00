internal import PealCore

extension StoreSession {
    /// Reads `WebhookSQL.deliveryColumns`.
    private static func delivery(_ row: any SQLRow) throws -> WebhookDelivery {
        guard let state = WebhookDelivery.State(rawValue: row.int(4)) else { throw PealError.damaged("a delivery") }
        return WebhookDelivery(
            id: try row.id(0), place: WebhookPlace(app: row.int(1), webhook: row.int(2)), type: row.text(3),
            state: state, itemCount: Int(row.int(5)), attempts: Int(row.int(6)),
            lastStatus: row.intIfPresent(7).map { Int($0) }, lastError: row.textIfPresent(8), createdAt: row.time(9),
            startedAt: row.time(10), nextAttemptAt: row.time(11), endedAt: row.timeIfPresent(12))
    }

    func deliveries(
        of place: WebhookPlace, before cursor: WebhookDeliveryID?, limit: Int
    ) throws -> [WebhookDelivery] {
        // Seventeen bytes come after every id.
        let end = cursor?.bytes ?? [UInt8](repeating: 0xFF, count: 17)
        return try connection.all(
            WebhookSQL.newestDeliveries, Self.values(place) + [.bytes(end), .int(limit)], Self.delivery)
    }

    func delivery(of place: WebhookPlace, id: WebhookDeliveryID) throws -> WebhookDelivery? {
        try connection.first(
            "SELECT \(WebhookSQL.deliveryColumns) FROM webhook_delivery WHERE app = $1 AND webhook = $2 AND id = $3",
            Self.values(place) + [.id(id)], Self.delivery)
    }

    func retryDelivery(of place: WebhookPlace, id: WebhookDeliveryID, now: Timestamp) throws -> WebhookDelivery? {
        let count = try connection.execute(
            """
            UPDATE webhook_delivery SET state = 0, next_at = $4, ended_at = NULL,
                started_at = CASE WHEN state = 2 THEN $4 ELSE started_at END
            WHERE app = $1 AND webhook = $2 AND id = $3 AND state IN (0, 2) AND body IS NOT NULL
            """, Self.values(place) + [.id(id), .time(now)])
        return count == 1 ? try delivery(of: place, id: id) : nil
    }

    func leaseDeliveries(
        of place: WebhookPlace, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [LeasedDelivery] {
        try connection.all(
            context.dialect.text(of: WebhookSQL.leaseDeliveries),
            Self.values(place) + [.time(now), .int(limit), .text(owner), .time(until)]
        ) { row in
            LeasedDelivery(delivery: try Self.delivery(row), body: row.bytes(13), owner: owner, term: row.int(14))
        }.sorted { ($0.delivery.nextAttemptAt, $0.delivery.id) < ($1.delivery.nextAttemptAt, $1.delivery.id) }
    }

    func settle(_ leased: LeasedDelivery) throws -> Bool {
        let delivery = leased.delivery
        return try connection.execute(
            WebhookSQL.settle,
            [
                .int(delivery.place.app), .id(delivery.id), .text(leased.owner), .int(leased.term),
                .int(delivery.state.rawValue), .int(delivery.attempts),
                .int(delivery.lastStatus.map { Int64($0) }), .text(delivery.lastError),
                .time(delivery.nextAttemptAt), .time(delivery.endedAt),
            ]) == 1
    }

    func takeBackDeliveries() throws {
        try connection.execute(
            "UPDATE webhook_delivery SET lease_until = 0 WHERE state = 0 AND lease_until > 0", [])
    }
}
