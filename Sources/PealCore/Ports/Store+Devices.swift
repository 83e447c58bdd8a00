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

package protocol GeofenceReading {
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

/// Every change takes an instant of its own within the app, at or after the caller's. Numbers are never given again.
package protocol GeofenceWriting {
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
}

package protocol ReceiptReading {
    /// How many devices told each kind of fact of the message.
    func receiptCounts(app: AppKey, message: MessageID) throws -> [Receipt.Kind: Int]
    /// What one device told of the message, oldest first.
    func receipts(app: AppKey, message: MessageID, device: DeviceKey) throws -> [Receipt]
    /// Apps in which some active device is in the topic of that name, which has not expired; ascending.
    func apps(withTopic name: String, now: Timestamp) throws -> [App]
}

package protocol ReceiptWriting {
    /// Keeps what is not known yet; of each device the first of a kind. Messages must exist. Returns how many were new.
    @discardableResult
    func record(_ receipts: [Receipt], app: AppKey) throws -> Int
    /// Returns how many were new.
    @discardableResult
    func record(_ triggers: [GeofenceTrigger], app: AppKey) throws -> Int
}
