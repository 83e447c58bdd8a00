package protocol MessageReading {
    func message(app: AppKey, id: MessageID) throws -> Message?
    func report(app: AppKey, id: MessageID) throws -> MessageReport?
    /// Newest first, from before `cursor`.
    func messages(app: AppKey, _ filter: MessageFilter, before cursor: MessageID?, limit: Int) throws -> [Message]
    /// The names of campaigns that have messages, ascending by bytes, from after `name`.
    func campaignIDs(app: AppKey, after name: String?, limit: Int) throws -> [String]
    func draft(app: AppKey, id: MessageID) throws -> MessageDraft?
    /// A quick guess at how many devices a message to `audience` will reach, per platform.
    func audienceEstimate(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int]
    /// The exact number at this instant; reads the whole audience.
    func audienceCount(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int]
}

package protocol MessageWriting {
    /// Makes the message durable, in state `scheduled` where it starts later, else `planning`.
    /// - Throws: `conflict` when the id is taken.
    func insertMessage(_ draft: MessageDraft) throws
    /// Replaces a scheduled message's draft; its moments count from `now`. Returns false when it is no longer
    /// scheduled.
    func replaceDraft(_ draft: MessageDraft, now: Timestamp) throws -> Bool
    /// Moves a message to `state` if it is in one of `from`. Slices follow: pausing holds them, resuming frees them;
    /// cancelled and expired ones are settled by the workers. Returns the state before, nil when the guard failed.
    func moveMessage(
        app: AppKey, id: MessageID, from: Set<Message.State>, to state: Message.State, now: Timestamp
    ) throws -> Message.State?

    /// Cuts the message into slices and sets it sending (or sent, when nobody is in its audience). An explicit audience
    /// of at most `Limits.directDevicesMax` comes back leased to `owner`, when one is given.
    func plan(app: AppKey, id: MessageID, owner: String?, now: Timestamp) throws -> Plan
    /// The same for a message that this transaction inserted, which is not read again.
    func plan(_ draft: MessageDraft, owner: String?, now: Timestamp) throws -> Plan
}

package struct Plan: Sendable {
    package let state: Message.State
    package let leasedSlices: [Slice]

    package init(state: Message.State, leasedSlices: [Slice]) {
        self.state = state
        self.leasedSlices = leasedSlices
    }
}

package protocol MomentReading {
    func moment(_ place: Moment.Place) throws -> Moment?
    /// The one that has that name; of an app's whole past.
    func moment(app: AppKey, named name: MomentName) throws -> Moment?
    /// Those of a message, by user.
    func moments(app: AppKey, message: MessageID) throws -> [Moment]
    /// A user's open ones, the earliest deadline first: what a device may ask for.
    func openMoments(app: AppKey, userID: String, limit: Int) throws -> [Moment]
    /// How many users of `users` would be reached on which platform; who has no device counts on the first of the
    /// audience's.
    func momentAudience(app: AppKey, _ audience: Audience, environment: Environment?) throws -> [Platform: Int]
}

package protocol MomentWriting {
    /// Applies `event` as one compare-and-set, together with all that goes with it: the alert's slice, the webhooks'
    /// events, the message's state.
    /// - Returns: what it led to; nil where another process was faster.
    func apply(_ event: MomentEvent, to moment: Moment, now: Timestamp) throws -> MomentStep?
    /// Cancels what is open of a message and asks claimants to forget it. Returns how many were cancelled.
    func cancelMoments(app: AppKey, message: MessageID, now: Timestamp) throws -> Int
    /// Sends what is due and takes back claims that ended, at most `limit` of each. Returns how many.
    func fireDueMoments(now: Timestamp, limit: Int) throws -> Int
    /// Takes a user's moments and assignments along: what is open is cancelled, what is under way ends first.
    func eraseMoments(app: AppKey, userID: String, now: Timestamp) throws
    /// Tells webhooks that a device can be reached better or worse.
    func report(_ transition: DeviceTransition, id: OutboxEventID) throws
}

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
