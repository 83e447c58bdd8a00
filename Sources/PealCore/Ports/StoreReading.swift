/// What one consistent state of the store answers, noun by noun: apps, keys, credentials, devices, topics, messages,
/// delivery, moments, receipts, webhooks, geofences.
package protocol StoreReading {
    func app(_ id: AppID) throws -> App?
    func app(key: AppKey) throws -> App?
    /// The app that a dialect's clients call so; letter case does not matter.
    func app(dialect: DialectName, id: String) throws -> App?
    /// By id, ascending, from after `cursor`.
    func apps(after cursor: AppID?, limit: Int) throws -> [App]
    /// Whether some dialect's clients call an app exactly so.
    func hasApp(dialect: DialectName, id: String) throws -> Bool
    /// A server-wide value, as the hash of the first start's admin token.
    func setting(_ name: String) throws -> [UInt8]?

    /// The key with that public half, even when it has expired.
    func storedKey(_ dialect: DialectName, publicHalf: String) throws -> StoredKey?
    func keys(app: AppKey) throws -> [APIKey]

    func credential(
        app: AppKey, provider: ProviderName, environment: Environment
    ) throws -> (credential: Credential, record: CredentialRecord)?
    func credentialRecords(app: AppKey) throws -> [CredentialRecord]
    /// Of every app, those that end, the earliest first.
    func endingCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)]
    /// Of every app, those whose health is stopped, the latest first.
    func stoppedCredentials(limit: Int) throws -> [(app: AppID, record: CredentialRecord)]

    func device(app: AppKey, id: DeviceID) throws -> Device?
    /// By key, ascending, from after `cursor`; retired ones too.
    func devices(app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int) throws -> [Device]
    /// Active devices by route and key.
    func devices(app: AppKey, _ search: DeviceSearch, _ page: PageNumber, now: Timestamp) throws -> ResultPage<Device>
    /// Ids of users with an active device, ascending, that hold `part` without regard to letter case. Looks at
    /// `Limits.searchedRowsMax` users at most.
    func userIDs(app: AppKey, containing part: String?, limit: Int) throws -> [String]
    /// Active devices on that route; nil = on any.
    func deviceCount(app: AppKey, route: Route?) throws -> Int

    /// Topics that have not expired, by name, from after `cursor`.
    func topics(app: AppKey, after cursor: String?, limit: Int, now: Timestamp) throws -> [Topic]
    func topic(app: AppKey, name: String, now: Timestamp) throws -> Topic?
    /// Topics that have not expired, by name.
    func topics(app: AppKey, _ search: TopicSearch, _ page: PageNumber, now: Timestamp) throws
        -> ResultPage<TopicEntry>
    /// The topic of that number, unless it has expired.
    func topicEntry(app: AppKey, number: Int64, now: Timestamp) throws -> TopicEntry?
    /// Active devices on those routes that are in the topic; 0 when it has expired.
    func deviceCount(app: AppKey, topic: String, routes: [Route], now: Timestamp) throws -> Int

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

    /// Everything a worker needs of a message besides its devices.
    func job(app: AppKey, id: MessageID) throws -> DeliveryJob?
    /// Who of the slice's range is in the audience now, without what is settled.
    func candidates(of slice: Slice) throws -> KeySet
    /// The next devices of `candidates` after `cursor`, with addresses.
    func page(
        of slice: Slice, candidates: KeySet, after cursor: DeviceKey, limit: Int, now: Timestamp
    ) throws -> DevicePage
    /// The name of a number in `DevicePage.locales`.
    func locale(_ number: Int32) throws -> String?
    /// Routes that have slices ready to be leased.
    func readyRoutes() throws -> [ActiveRoute]
    /// The next instant at which something becomes due: a scheduled message or a waiting slice.
    func nextDueAt() throws -> Timestamp?
    /// Rows of the delivery log that may hold the device's outcome, oldest first.
    func logRows(app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool) throws
        -> [StoredLogRow]
    /// Number of an unregistered address in the message; nil when it is not part of it.
    func addressNumber(app: AppKey, message: MessageID, address: Address) throws -> DeviceKey?
    /// How often things happened and how much waits, for metrics.
    func census() throws -> StoreCensus

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

    /// How many devices reported each kind of receipt for the message.
    func receiptCounts(app: AppKey, message: MessageID) throws -> [Receipt.Kind: Int]
    /// The receipts of one device for the message, oldest first.
    func receipts(app: AppKey, message: MessageID, device: DeviceKey) throws -> [Receipt]
    /// Apps in which some active device is in the topic of that name, which has not expired; ascending.
    func apps(withTopic name: String, now: Timestamp) throws -> [App]

    func webhook(app: AppKey, name: String) throws -> Webhook?
    func webhook(_ place: WebhookPlace) throws -> Webhook?
    /// By name, ascending, from after `cursor`.
    func webhooks(app: AppKey, after cursor: String?, limit: Int) throws -> [Webhook]
    /// Newest first, from before `cursor`.
    func deliveries(
        of place: WebhookPlace, before cursor: WebhookDeliveryID?, limit: Int
    ) throws -> [WebhookDelivery]
    func delivery(of place: WebhookPlace, id: WebhookDeliveryID) throws -> WebhookDelivery?

    /// Webhooks for which there is something to do now: an event due, a request's worth of events, or a delivery due
    /// that nobody has leased.
    func dueWebhooks(now: Timestamp) throws -> [WebhookPlace]
    /// Whether a delivery of the webhook is due that nobody has leased.
    func isDeliveryDue(for place: WebhookPlace, now: Timestamp) throws -> Bool
    /// What waits for the webhook, oldest first.
    func outboxEvents(for place: WebhookPlace, limit: Int) throws -> [OutboxEvent]
    /// What a report of the message is made of; nil when it is gone.
    func facts(app: AppKey, message: MessageID) throws -> MessageFacts?

    func geofence(app: AppKey, id: Int64) throws -> Geofence?
    /// In order of id.
    func geofences(app: AppKey, _ query: NumberedPageQuery) throws -> NumberedPage<Geofence>
    /// Those that have the location.
    func geofences(app: AppKey, at location: Int64) throws -> [Geofence]
    func geofenceLedger(app: AppKey) throws -> GeofenceLedger
    func location(app: AppKey, id: Int64) throws -> GeofenceLocation?
    func locations(
        app: AppKey, _ query: NumberedPageQuery
    ) throws -> NumberedPage<GeofenceLocation>
    func locationGroup(app: AppKey, id: Int64) throws -> LocationGroup?
    func locationGroups(app: AppKey, _ query: NumberedPageQuery) throws -> NumberedPage<LocationGroup>
    /// A device's topics with the instants of joining.
    func topicsJoined(app: AppKey, device: DeviceKey) throws -> [String: Timestamp]
    func triggerCount(app: AppKey, geofence: Int64) throws -> Int
}
