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
