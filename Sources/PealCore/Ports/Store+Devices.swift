package protocol DeviceReading {
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
}

package protocol DeviceWriting {
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
}

package protocol TopicReading {
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
}

package protocol TopicWriting {
    /// Makes the topic or changes its expiry.
    func putTopic(app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp) throws -> Topic
    /// Makes the topic unless there is one that has not expired, which stays as it is.
    func makeTopic(
        app: AppKey, name: String, expiresAt: Timestamp?, now: Timestamp
    ) throws -> (topic: TopicEntry, isNew: Bool)
    /// Takes the subscriptions along. Returns whether there was one.
    func deleteTopic(app: AppKey, name: String) throws -> Bool
}
