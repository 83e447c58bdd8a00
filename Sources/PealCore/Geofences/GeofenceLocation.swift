/// A circle on the earth, used by any number of geofences and groups.
package struct GeofenceLocation: Sendable, Hashable {
    /// Counted from 1 in each app.
    package var id: Int64
    package var circle: Circle
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(id: Int64, circle: Circle, createdAt: Timestamp, updatedAt: Timestamp) {
        self.id = id
        self.circle = circle
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// The part that an author sets. Numbers keep the text of the request.
    package struct Circle: Sendable, Hashable {
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

/// Locations under one name, for administration only. Geofences refer to locations, not to groups.
package struct LocationGroup: Sendable, Hashable {
    /// Counted from 1 in each app.
    package var id: Int64
    package var plan: Plan
    /// The locations in `plan.locationIDs`, in that order.
    package var locations: [GeofenceLocation]
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        id: Int64, plan: Plan, locations: [GeofenceLocation], createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.id = id
        self.plan = plan
        self.locations = locations
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// The part that an author sets.
    package struct Plan: Sendable, Hashable {
        package var name: String
        package var text: String
        package var locationIDs: [Int64]

        package init(name: String, text: String, locationIDs: [Int64]) {
            self.name = name
            self.text = text
            self.locationIDs = locationIDs
        }
    }
}
