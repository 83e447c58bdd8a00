/// What one transaction can change. Noun by noun as in `StoreReading`; a transaction sees its own changes.
package protocol StoreWriting: StoreReading {
    /// `app.key` is given by the store; the one passed is ignored.
    /// - Throws: `conflict` when the id is taken.
    func insertApp(_ app: App) throws -> App
    func updateApp(_ app: App) throws
    /// Takes everything of the app along. Returns false when there was none.
    func deleteApp(_ key: AppKey) throws -> Bool
    func setSetting(_ name: String, _ value: [UInt8]) throws

    /// - Throws: `conflict` when another key of that dialect has the public half.
    func insertKey(_ key: StoredKey) throws
    func deleteKey(_ id: KeyID, app: AppKey) throws -> Bool

    /// Stores it sealed, in place of an earlier one; the fingerprint is made by the store.
    func putCredential(
        _ examination: CredentialExamination, app: AppKey, provider: ProviderName, environment: Environment,
        now: Timestamp
    ) throws -> CredentialRecord
    func setHealth(
        _ health: CredentialRecord.Health, app: AppKey, provider: ProviderName, environment: Environment
    ) throws
    func deleteCredential(app: AppKey, provider: ProviderName, environment: Environment) throws -> Bool

    /// Registers or replaces. A known device keeps its key and its place in running audiences; topics are applied as a
    /// difference; a registration that changes nothing and is younger than a minute writes nothing.
    func register(
        _ registration: DeviceRegistration, app: AppKey, now: Timestamp
    ) throws -> DeviceRegistration.Result
    /// - Returns: whether there was one.
    func deleteDevice(app: AppKey, id: DeviceID) throws -> Bool
    /// Erases a user: devices, history, everything. Returns how many devices went.
    func deleteUser(app: AppKey, userID: String) throws -> Int
    /// Subscribes and unsubscribes an existing device. `now` decides whether a running message still reaches it.
    func changeTopics(app: AppKey, device: DeviceKey, add: [String], remove: [String], now: Timestamp) throws

    /// Makes the topic or changes its expiry.
    func putTopic(app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp) throws -> Topic
    /// Makes the topic unless there is one that has not expired, which stays as it is.
    func makeTopic(
        app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp
    ) throws -> (topic: TopicEntry, isNew: Bool)
    /// Takes the subscriptions along. Returns whether there was one.
    func deleteTopic(app: AppKey, name: String) throws -> Bool

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

    /// Messages whose start has come, moved to planning, and messages found in planning. At most `limit`.
    func dueMessages(now: Timestamp, limit: Int) throws -> [(app: AppKey, id: MessageID)]
    /// Frees waiting slices that are due. Returns how many.
    func releaseDueSlices(now: Timestamp, limit: Int) throws -> Int
    /// Frees slices that wait although none of their devices was tried: their route was closed and is open again.
    func freeUntriedSlices(of route: ActiveRoute) throws
    /// Ends paused messages whose expiry has passed, at most `limit`: one of which something was sent goes on, so that
    /// its workers settle the rest; another is expired. Returns how many.
    func endPausedMessages(now: Timestamp, limit: Int) throws -> Int
    /// Leases ready slices of one route in order of lane and rank.
    func lease(
        _ route: ActiveRoute, limit: Int, owner: String, until: Timestamp, now: Timestamp
    ) throws -> [Slice]
    /// Extends leases that are still the owner's. Returns those that are.
    func extendLeases(_ slices: [(id: Slice.ID, term: Int64)], owner: String, until: Timestamp) throws -> [Slice.ID]
    /// Takes back leases: those that ended before `now`, or with nil every one (a start of the only process).
    func takeBackLeases(endedBefore now: Timestamp?) throws -> Int
    /// Applies each settlement whose lease still holds; one row's fate never touches another's.
    func settle(_ settlements: [Settlement], now: Timestamp) throws -> [Settlement.Result]
    /// Deletes what is past its time, at most `limit` rows a call; returns how many went.
    func prune(now: Timestamp, limit: Int) throws -> Int

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

    /// Keeps what is not known yet; of each device the first of a kind. Messages must exist. Returns how many were new.
    @discardableResult
    func record(_ receipts: [Receipt], app: AppKey) throws -> Int
    /// Returns how many were new.
    @discardableResult
    func record(_ triggers: [GeofenceTrigger], app: AppKey) throws -> Int

    /// Makes the webhook, or changes the one of that name and takes it into service again; `key` is given by the store.
    /// With another kind it is a new webhook: what waited for the former one and its deliveries go.
    func putWebhook(_ webhook: Webhook) throws -> (webhook: Webhook, isNew: Bool)
    /// Takes what waits for it and its deliveries along. Returns whether there was one.
    func deleteWebhook(app: AppKey, name: String) throws -> Bool
    /// Its receiver is gone: what waits is forgotten and its pending deliveries fail as `Disabled`.
    func disableWebhook(_ place: WebhookPlace, now: Timestamp) throws
    /// Retries a failed delivery, and a pending one at once.
    /// - Returns: nil when there is none, it is delivered, or it was never made into a request.
    func retryDelivery(of place: WebhookPlace, id: WebhookDeliveryID, now: Timestamp) throws -> WebhookDelivery?

    /// Queues the event for each webhook of its app that has one of `kinds` and is in service. Called in the
    /// transaction that causes it. Returns for how many.
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

    /// - Throws: `invalid_field` for a location that there is not.
    func insertGeofence(_ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence
    /// - Returns: nil when there is none.
    /// - Throws: `invalid_field` for a location that there is not.
    func updateGeofence(_ id: Int64, _ plan: Geofence.Plan, app: AppKey, now: Timestamp) throws -> Geofence?
    /// Leaves a memory of it until no device can hold it. Returns whether there was one.
    func deleteGeofence(_ id: Int64, app: AppKey, now: Timestamp) throws -> Bool
    func insertLocation(_ place: GeofenceLocation.Place, app: AppKey, now: Timestamp) throws -> GeofenceLocation
    /// The geofences that have it change with it.
    /// - Returns: nil when there is none.
    func updateLocation(
        _ id: Int64, _ place: GeofenceLocation.Place, app: AppKey, now: Timestamp
    ) throws -> GeofenceLocation?
    /// Groups lose it; the caller sees to it that no geofence has it. Returns whether there was one.
    func deleteLocation(_ id: Int64, app: AppKey) throws -> Bool
    /// - Throws: `invalid_field` for a location that there is not.
    func insertLocationGroup(_ plan: LocationGroup.Plan, app: AppKey, now: Timestamp) throws -> LocationGroup
    /// - Returns: nil when there is none.
    /// - Throws: `invalid_field` for a location that there is not.
    func updateLocationGroup(
        _ id: Int64, _ plan: LocationGroup.Plan, app: AppKey, now: Timestamp
    ) throws -> LocationGroup?
    func deleteLocationGroup(_ id: Int64, app: AppKey) throws -> Bool

    /// Looks up what was answered to this request before; nil = never. Records older than the request's
    /// `lifeSeconds` do not count.
    func keptAnswer(_ request: IdempotentRequest, now: Timestamp) throws -> KeptAnswer?
    func keepAnswer(_ answer: KeptAnswer, to request: IdempotentRequest, now: Timestamp) throws

    func audit(_ entry: AuditEntry) throws
    /// Newest first, from before `cursor` (an entry's number); of one app, or of all.
    func auditEntries(app: AppKey?, before cursor: Int64?, limit: Int) throws -> [(number: Int64, entry: AuditEntry)]
}
