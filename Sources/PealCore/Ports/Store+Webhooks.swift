package protocol WebhookReading {
    func webhook(app: AppKey, name: String) throws -> Webhook?
    func webhook(_ place: WebhookPlace) throws -> Webhook?
    /// By name, ascending, from after `cursor`.
    func webhooks(app: AppKey, after cursor: String?, limit: Int) throws -> [Webhook]
    /// Newest first, from before `cursor`.
    func deliveries(
        of place: WebhookPlace, before cursor: WebhookDeliveryID?, limit: Int
    ) throws -> [WebhookDelivery]
    func delivery(of place: WebhookPlace, id: WebhookDeliveryID) throws -> WebhookDelivery?
}

package protocol WebhookWriting {
    /// Makes the webhook, or changes the one of that name and takes it into service again; `key` is given by the store.
    /// With another kind it is a new webhook: what waited for the former one and its deliveries go.
    func putWebhook(_ webhook: Webhook) throws -> (webhook: Webhook, isNew: Bool)
    /// Takes what waits for it and its deliveries along. Returns whether there was one.
    func deleteWebhook(app: AppKey, name: String) throws -> Bool
    /// Its receiver is gone: what waits is forgotten and its pending deliveries fail as `Disabled`.
    func disableWebhook(_ place: WebhookPlace, now: Timestamp) throws
    /// Has a failed delivery tried anew, and a pending one at once.
    /// - Returns: nil when there is none, it is delivered, or it was never made into a request.
    func retryDelivery(of place: WebhookPlace, id: WebhookDeliveryID, now: Timestamp) throws -> WebhookDelivery?
}

package protocol OutboxReading {
    /// Webhooks for which there is something to do now: an event due, a request's worth of events, or a delivery due
    /// that nobody has leased.
    func dueWebhooks(now: Timestamp) throws -> [WebhookPlace]
    /// Whether a delivery of the webhook is due that nobody has leased.
    func isDeliveryDue(for place: WebhookPlace, now: Timestamp) throws -> Bool
    /// What waits for the webhook, oldest first.
    func outboxEvents(for place: WebhookPlace, limit: Int) throws -> [OutboxEvent]
    /// What a report of the message is made of; nil when it is gone.
    func facts(app: AppKey, message: MessageID) throws -> MessageFacts?
}

package protocol OutboxWriting {
    /// Queues the event for each webhook of its app that has one of `kinds` and is in service. Called in the
    /// transaction that makes true what the event tells. Returns for how many.
    /// - Throws: `internal` when the payload is larger than `Limits.webhookPayloadBytesMax`.
    @discardableResult
    func enqueue(_ event: OutboxEvent, for kinds: [Webhook.Kind]) throws -> Int
    /// Makes events into a delivery and takes them out of the queue; a pending one comes leased to `owner`.
    /// - Parameter body: nil for one that failed before it could be written.
    /// - Returns: nil when another process took one of them meanwhile: the caller must undo its transaction.
    func cut(
        _ events: [OutboxEvent], into delivery: WebhookDelivery, body: [UInt8]?, owner: String, until: Timestamp
    ) throws -> LeasedDelivery?
    /// Leases deliveries that are due, the longest due first.
    func leaseDeliveries(
        of place: WebhookPlace, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [LeasedDelivery]
    /// Writes what became of a leased delivery, which is its `delivery`, and ends the lease. Returns whether the lease
    /// still held.
    func settle(_ leased: LeasedDelivery) throws -> Bool
    /// Ends every lease of deliveries: at the start of the only process.
    func takeBackDeliveries() throws
}
