/// A circle on the earth, used by any number of geofences and groups.
package struct GeofenceLocation: Sendable, Hashable {
    /// Counted from 1 in each app.
    package var id: Int64
    package var place: Place
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(id: Int64, place: Place, createdAt: Timestamp, updatedAt: Timestamp) {
        self.id = id
        self.place = place
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// What an author decides. Numbers keep the text they were sent with.
    package struct Place: Sendable, Hashable {
        package var name: String
        /// Degrees, -90 to 90.
        package var latitude: String
        /// Degrees, -180 to 180.
        package var longitude: String
        /// Metres.
        package var radius: String

        package init(name: String, latitude: String, longitude: String, radius: String) {
            self.name = name
            self.latitude = latitude
            self.longitude = longitude
            self.radius = radius
        }
    }
}
