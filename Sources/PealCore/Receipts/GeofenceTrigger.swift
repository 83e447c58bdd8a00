/// A device told that it crossed the border of a geofence's location.
package struct GeofenceTrigger: Sendable, Hashable {
    package var geofence: Int64
    package var location: Int64
    package var device: DeviceKey
    package var at: Timestamp

    package init(geofence: Int64, location: Int64, device: DeviceKey, at: Timestamp) {
        self.geofence = geofence
        self.location = location
        self.device = device
        self.at = at
    }
}
