/// What can be read from one consistent state of the store, in this order: apps, keys, credentials, devices, topics,
/// segments, saved messages, messages, delivery, moments, installations, experiments and models, statistics, receipts,
/// webhooks, geofences, the audit log, admins, pruning.
package protocol StoreReading {
    func app(_ id: AppID) throws -> App?
    func app(key: AppKey) throws -> App?
    func appID(_ key: AppKey) throws -> AppID?
    /// The app with that id in a dialect, ignoring letter case.
    func app(dialect: DialectName, id: String) throws -> App?
    /// In ascending order of id, starting after `cursor`.
    func apps(after cursor: AppID?, limit: Int) throws -> [App]
    /// Whether any app has exactly that id in a dialect.
    func hasApp(dialect: DialectName, id: String) throws -> Bool
    /// A server-wide value, such as the hash of the admin token, even when it has expired.
    func setting(_ name: String) throws -> [UInt8]?

    /// The key with that public half, even when it has expired.
    func storedKey(_ dialect: DialectName, publicHalf: String) throws -> StoredKey?
    /// The app's own keys, and those of other apps that were granted to it.
    func keys(app: AppKey) throws -> [APIKey]
    /// Whether the app has a key of that dialect.
    func hasKey(app: AppKey, dialect: DialectName) throws -> Bool

    func credential(at slot: CredentialSlot) throws -> (credential: Credential, record: CredentialRecord)?
    func credentialRecords(app: AppKey) throws -> [CredentialRecord]
    /// Credentials of all apps that expire, the earliest first.
    func endingCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)]
    /// Credentials of all apps that their provider refused, the latest first.
    func stoppedCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)]

    func device(app: AppKey, id: DeviceID) throws -> Device?
    func device(app: AppKey, key: DeviceKey) throws -> Device?
    /// The device that has the address, active or retired.
    func device(app: AppKey, address: Address) throws -> Device?
    /// In ascending order of key, starting after `cursor`, retired devices included.
    func devices(app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int) throws -> [Device]
    /// Active devices, ordered by route and key.
    func devices(app: AppKey, _ search: DeviceSearch, _ page: PageNumber, now: Timestamp) throws -> ResultPage<Device>
    /// Ids of users with an active device that contain `part`, ignoring letter case, in ascending order. Reads at most
    /// `Limits.searchedRowsMax` users.
    func userIDs(app: AppKey, containing part: String?, limit: Int) throws -> [String]
    /// The number of active devices on that route; nil counts all routes. Reads an index entry for each of them.
    func deviceCount(app: AppKey, route: Route?) throws -> Int
    /// The highest key that a device of the app has or had; 0 for none. It may be a little higher.
    func lastDeviceKey(app: AppKey) throws -> DeviceKey

    /// Topics that have not expired, ordered by name, starting after `cursor`.
    func topics(app: AppKey, after cursor: String?, limit: Int, now: Timestamp) throws -> [Topic]
    func topic(app: AppKey, name: String, now: Timestamp) throws -> Topic?
    /// Topics that have not expired, ordered by name.
    func topics(app: AppKey, _ search: TopicSearch, _ page: PageNumber, now: Timestamp) throws
        -> ResultPage<TopicEntry>
    /// How the topic grew in the last `days` days; nil for an unknown or expired one. Reads all its subscriptions.
    func growth(app: AppKey, topic: String, days: Int, now: Timestamp) throws -> TopicGrowth?
    /// The topic with that number, unless it has expired.
    func topicEntry(app: AppKey, number: Int64, now: Timestamp) throws -> TopicEntry?
    /// The number of active devices in the topic on those routes; 0 when the topic has expired.
    func deviceCount(app: AppKey, topic: String, routes: [Route], now: Timestamp) throws -> Int
    /// A device's topics, each with the instant at which the device joined it.
    func topicsJoined(app: AppKey, device: DeviceKey) throws -> [ExactText: Timestamp]
    /// Apps in which an active device is in the topic of that name, in ascending order. Expired topics do not count.
    func apps(withTopic name: String, now: Timestamp) throws -> [App]

    func segment(app: AppKey, name: String) throws -> Segment?
    /// Ordered by name, starting after `cursor`.
    func segments(app: AppKey, after cursor: String?, limit: Int) throws -> [Segment]
    /// The condition with every segment replaced with its condition.
    /// - Throws: `invalid_field` for a segment that does not exist.
    func resolved(_ condition: Condition, app: AppKey) throws -> Condition

    func savedMessage(app: AppKey, _ kind: SavedMessage.Kind, name: String) throws -> SavedMessage?
    /// Ordered by name, starting after `cursor`.
    func savedMessages(
        app: AppKey, _ kind: SavedMessage.Kind, after cursor: String?, limit: Int
    ) throws -> [SavedMessage]
    /// The devices that test messages go to, in the order in which they were starred.
    func starredDevices(app: AppKey) throws -> [Device]

    func message(app: AppKey, id: MessageID) throws -> Message?
    func report(of message: Message) throws -> MessageReport
    /// nil when there is no such message.
    func overview(app: AppKey, id: MessageID) throws -> MessageOverview?
    /// Newest first, starting before `cursor`.
    func messages(app: AppKey, _ filter: MessageFilter, before cursor: MessageID?, limit: Int) throws -> [Message]
    /// The totals of a campaign's pruned messages; nil for none.
    func prunedTotal(app: AppKey, campaign: String) throws -> CampaignReport?
    /// The names of campaigns that have or had messages, ordered by bytes, starting after `name`.
    func campaignIDs(app: AppKey, after name: String?, limit: Int) throws -> [String]
    func draft(app: AppKey, id: MessageID) throws -> MessageDraft?
    /// A hash of everything that `draft` returns, computed without decoding it; nil if there is no such message.
    func draftDigest(app: AppKey, id: MessageID) throws -> [UInt8]?
    /// The condition that the message was planned with, without segments; nil for none.
    func plannedCondition(app: AppKey, message: MessageID) throws -> Condition?
    /// A fast estimate of how many devices a message to `audience` will reach, per platform.
    func audienceEstimate(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int]
    /// The exact number at this instant. Reads the whole audience.
    func audienceCount(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int]

    /// What a worker needs to know about a message, except its devices.
    func job(app: AppKey, id: MessageID) throws -> DeliveryJob?
    /// The rate of a message; nil for no limit.
    func rate(app: AppKey, message: MessageID) throws -> Int64?
    /// The keys of the slice's range that are in the audience now and not yet settled.
    func candidates(of slice: Slice, now: Timestamp) throws -> KeySet
    /// The next devices of `candidates` after `cursor`, with addresses.
    /// - Parameter withPeople: Whether `DevicePage.people` is wanted too.
    func page(
        of slice: Slice, candidates: KeySet, after cursor: DeviceKey, limit: Int, now: Timestamp, withPeople: Bool
    ) throws -> DevicePage
    /// The name of a number in `DevicePage.locales`.
    func locale(_ number: Int32) throws -> String?
    /// The devices that have got as many messages as the cap allows, with the time until which they must wait. Devices
    /// for which the message already counts are left out.
    func waits(
        _ keys: [DeviceKey], app: AppKey, message: MessageID, cap: FrequencyCap, now: Timestamp
    ) throws -> [DeviceKey: Timestamp]
    /// The name of a number in `DevicePage.Person.zone`.
    func timeZone(_ number: Int32) throws -> String?
    /// When sending of the message continues, if all devices without an outcome wait; nil otherwise.
    func continuesAt(app: AppKey, message: MessageID) throws -> Timestamp?
    /// When the device or address that waits in a list of the message is, or was, due; nil if it does not wait.
    func dueAt(
        app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool
    ) throws -> Timestamp?
    /// Routes with slices that can be leased, starting after `start` and wrapping around once. Skips closed routes
    /// until they may be probed. Visits at most `stepsMax` routes.
    func readyRoutes(after start: ActiveRoute?, stepsMax: Int, now: Timestamp) throws -> ReadyRoutes
    /// Gates that changed after the change of that number, in order of their changes.
    func gates(changedAfter change: Int64, limit: Int) throws -> [RouteGate]
    /// The gates of an app's routes that were ever closed.
    func gates(app: AppKey) throws -> [RouteGate]
    /// What waits on an app's routes. Reads at most `Limits.routeSlicesRead` slices, the oldest messages first.
    func routeLoads(app: AppKey) throws -> [Route: RouteLoad]
    /// Closed routes on which slices wait, at most `limit`, the longest closed first.
    func parkedRoutes(limit: Int) throws -> [ParkedRoute]
    /// When the next scheduled message, waiting slice or moment becomes due, or the next message expires.
    func nextDueAt() throws -> Timestamp?
    /// Rows of the delivery log that may contain the device's outcome, oldest first.
    func logRows(app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool) throws
        -> [StoredLogRow]
    /// The first rows of the message's delivery log, of any route.
    func logRows(app: AppKey, message: MessageID, limit: Int) throws -> [StoredLogRow]
    /// The number of an unregistered address in the message; nil when the message does not name it.
    func addressNumber(app: AppKey, message: MessageID, address: Address) throws -> DeviceKey?
    /// Slices whose results cannot be stored, of all apps; at most `limit`.
    func quarantinedSlices(limit: Int) throws -> [QuarantinedSlice]
    /// Why the device's slice of the message is quarantined; nil when it is not.
    func quarantineReason(app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool) throws
        -> String?
    /// How much work is waiting, for metrics.
    func census() throws -> StoreCensus
    /// The bytes of the database; nil when unknown.
    func size() throws -> Int?
    /// The servers on the database, by name; empty if only one process can use it.
    func servers(seenSince start: Timestamp) throws -> [(name: String, seenAt: Timestamp)]

    func moment(_ id: Moment.ID) throws -> Moment?
    /// The moment with that name, open or not.
    func moment(app: AppKey, named name: MomentName) throws -> Moment?
    /// The moments of a message, ordered by user.
    func moments(app: AppKey, message: MessageID) throws -> [Moment]
    /// A user's open moments in the order of `MomentCursor`, starting after `cursor`: what a device may ask for.
    func openMoments(app: AppKey, userID: String, after cursor: MomentCursor?, limit: Int) throws -> [Moment]
    /// The moment of the message that the device has; nil if it has none.
    func moment(app: AppKey, message: MessageID, device: DeviceKey) throws -> Moment?
    /// The routes of the devices that may show a message: the audience's, if the content has something for them. Empty
    /// if it does not exist.
    func momentRoutes(app: AppKey, message: MessageID) throws -> [Route]
    /// How many of the audience's users would be reached on each platform. A user without a device counts on the
    /// audience's first platform.
    func momentAudience(app: AppKey, _ audience: Audience, environment: Environment?) throws -> [Platform: Int]

    /// The installation with that token, unless the key that issued it was deleted or has expired.
    func installation(tokenHash: [UInt8], now: Timestamp) throws -> Installation?
    func installation(app: AppKey, device: DeviceKey) throws -> Installation?
    /// When devices with this address, whose installations ended within the last hour, got their last wake-ups.
    func spentWakes(app: AppKey, address: Address) throws -> [Timestamp]
    /// When the next device is due for a wake-up push.
    func nextWakeAt() throws -> Timestamp?
    /// The hour (0 to 23) that clocks show in a device's time zone, or in the app's default one if the device's is
    /// unknown.
    /// - Parameter zone: the device's; nil if it is unknown.
    func localHour(at instant: Timestamp, zone: String?, app: AppKey) throws -> Int

    /// The experiment of a campaign, or its last one if it has ended; nil if there was none. Reads all its messages.
    func experiment(app: AppKey, campaign: String, now: Timestamp) throws -> ExperimentFacts?
    /// The current run of a campaign's experiment; nil if none is running.
    func experimentRun(of campaign: String, app: AppKey) throws -> ExperimentRun?
    /// The campaigns with a running experiment, by name, starting after `name`.
    func experimentCampaigns(app: AppKey, after name: String?, limit: Int) throws -> [String]
    /// The public keys of an app's models, the newest last.
    func modelKeys(app: AppKey) throws -> [ModelKey]
    /// A model of a campaign (empty for all); nil for a version that does not exist. Without a version, the newest.
    func modelRelease(app: AppKey, campaign: String, version: Int64?) throws -> ModelRelease?
    /// The kept versions of a campaign's model, the newest first.
    func modelVersions(app: AppKey, campaign: String) throws -> [Int64]
    /// Models that are newer than what a phone has, of all campaigns and of those of its user's open messages; at most
    /// `Limits.modelsPerSyncMax`.
    /// - Parameter held: versions by campaign.
    func newModels(app: AppKey, userID: String?, held: [String: Int64], now: Timestamp) throws -> [ModelRelease]
    func learning(app: AppKey, campaign: String) throws -> CampaignLearning?
    /// The first app after `app` some of whose users share their context.
    func sharingApp(after app: AppKey) throws -> AppKey?
    /// Displays whose outcome is known by `now`, newest first, starting after `cursor`.
    func labels(app: AppKey, after cursor: ContextCursor?, limit: Int, now: Timestamp) throws
        -> ContextPage<MomentLabel>
    /// Soft messages that phones with the notification service extension traced, with known outcome by `now`: newest
    /// first, starting after `cursor`.
    func journeys(app: AppKey, after cursor: ContextCursor?, limit: Int, now: Timestamp) throws
        -> ContextPage<MomentJourney>
    /// The hours of the day in which users who share their context opened the app: 24 counters for each of at most
    /// `limit` users.
    func openCounters(app: AppKey, limit: Int) throws -> [[Int]]
    /// The expected share of wake-ups that arrive, averaged over the app's devices; nil without evidence.
    func arrivalRate(app: AppKey) throws -> Double?
    /// Displays of a campaign at moments that phones chose, with known outcome by `now`. Counts at most `limit`.
    func displays(app: AppKey, campaign: String, limit: Int, now: Timestamp) throws -> (shown: Int, opened: Int)

    /// Everything counted in `from..<to`, in no particular order. Old counts are summed by hour or by day.
    func statistics(app: AppKey, from: Timestamp, to: Timestamp) throws -> [Statistics]

    /// How many devices reported each kind of receipt for the message.
    func receiptCounts(app: AppKey, message: MessageID) throws -> [Receipt.Kind: Int]
    /// What one device reported about the message, oldest first.
    func receipts(app: AppKey, message: MessageID, device: DeviceKey) throws -> [Receipt]
    /// The buttons and contents in the device's events about the message, oldest first; nil for an event without one.
    func eventDetails(
        app: AppKey, message: MessageID, device: DeviceKey
    ) throws -> [(kind: DeviceEvent.Kind, detail: String?)]

    func webhook(app: AppKey, name: String) throws -> Webhook?
    func webhook(_ reference: WebhookReference) throws -> Webhook?
    /// Ordered by name, starting after `cursor`.
    func webhooks(app: AppKey, after cursor: String?, limit: Int) throws -> [Webhook]
    /// Newest first, starting before `cursor`.
    func deliveries(
        of reference: WebhookReference, before cursor: WebhookDeliveryID?, limit: Int
    ) throws -> [WebhookDelivery]
    func delivery(of reference: WebhookReference, id: WebhookDeliveryID) throws -> WebhookDelivery?

    /// Webhooks with something to do now: an event that is due, enough events for a full request, or a due delivery
    /// without a lease.
    func dueWebhooks(now: Timestamp) throws -> [WebhookReference]
    /// Whether the webhook has a due delivery without a lease.
    func isDeliveryDue(for reference: WebhookReference, now: Timestamp) throws -> Bool
    /// Whether a delivery of the webhook is being sent.
    func isDeliveryLeased(for reference: WebhookReference, now: Timestamp) throws -> Bool
    /// The events that wait for the webhook, oldest first.
    func outboxEvents(for reference: WebhookReference, limit: Int) throws -> [OutboxEvent]
    /// The input for a report on the message; nil if the message no longer exists.
    func facts(app: AppKey, message: MessageID) throws -> MessageFacts?

    func geofence(app: AppKey, id: Int64) throws -> Geofence?
    /// Ordered by id.
    func geofences(app: AppKey, _ query: NumberedPageQuery) throws -> ResultPage<Geofence>
    /// The geofences that include the location.
    func geofences(app: AppKey, at location: Int64) throws -> [Geofence]
    func geofenceLedger(app: AppKey) throws -> GeofenceLedger
    func location(app: AppKey, id: Int64) throws -> GeofenceLocation?
    func locations(
        app: AppKey, _ query: NumberedPageQuery
    ) throws -> ResultPage<GeofenceLocation>
    func locationGroup(app: AppKey, id: Int64) throws -> LocationGroup?
    func locationGroups(app: AppKey, _ query: NumberedPageQuery) throws -> ResultPage<LocationGroup>
    func triggerCount(app: AppKey, geofence: Int64) throws -> Int

    /// Rows of the audit log in descending order of number, starting before `cursor`.
    /// - Parameter numbersMax: how many rows are searched.
    func auditRows(
        _ filter: AuditFilter, before cursor: Int64?, limit: Int, among numbersMax: Int64
    ) throws -> AuditPart
    /// Rows of the audit log in ascending order of number, starting after `cursor`.
    /// - Parameter numbersMax: how many rows are searched.
    func auditRows(
        _ filter: AuditFilter, after cursor: Int64, limit: Int, among numbersMax: Int64
    ) throws -> AuditPart
    /// Checks at most `limit` rows after those of `earlier`, which is `incomplete`.
    func checkAudit(_ earlier: AuditCheck, limit: Int) throws -> AuditCheck

    /// Named admins, in order of creation.
    func admins() throws -> [Admin]
    /// The admin whose key's hash begins with that prefix.
    func storedAdmin(publicHalf: String) throws -> (admin: Admin, secretHash: [UInt8])?

    /// Whether requests began changes that `prune` must complete now.
    func hasRemainders(now: Timestamp) throws -> Bool
    /// The first message after `skipped` that `prune` processes; nil if there is none, or if `step` is not done message
    /// by message.
    func nextToPrune(_ step: PruneStep, after skipped: PruneCursor?, now: Timestamp) throws -> PruneCursor?
}

extension StoreReading {
    package func report(app: AppKey, id: MessageID) throws -> MessageReport? {
        try message(app: app, id: id).map { try report(of: $0) }
    }

    /// The next devices of `candidates` after `cursor`, with addresses and without people.
    package func page(
        of slice: Slice, candidates: KeySet, after cursor: DeviceKey, limit: Int, now: Timestamp
    ) throws -> DevicePage {
        try page(of: slice, candidates: candidates, after: cursor, limit: limit, now: now, withPeople: false)
    }
}
