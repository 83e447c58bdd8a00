/// All geofences of an app and the memory of deleted ones: what a device's share is cut from.
package struct GeofenceLedger: Sendable, Hashable {
    package var geofences: [Geofence]
    package var deleted: [Deleted]
    /// The latest change of any; nil before the first.
    package var changedAt: Timestamp?

    package init(geofences: [Geofence], deleted: [Deleted], changedAt: Timestamp?) {
        self.geofences = geofences
        self.deleted = deleted
        self.changedAt = changedAt
    }

    package struct Deleted: Sendable, Hashable {
        package var id: Int64
        package var at: Timestamp

        package init(id: Int64, at: Timestamp) {
            self.id = id
            self.at = at
        }
    }
}
