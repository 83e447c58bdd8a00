/// Places at whose border a phone shows a notification by itself, and whose phones those are.
package struct Geofence: Sendable, Hashable {
    /// Counted from 1 in each app.
    package var id: Int64
    package var plan: Plan
    /// Those of `plan.locationIDs`, in that order.
    package var locations: [GeofenceLocation]
    package var createdAt: Timestamp
    /// Of two changes in one app never the same, so that a device that knows one instant's state misses none.
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

    /// What an author decides.
    package struct Plan: Sendable, Hashable {
        /// Topics: a device in one of them has the geofence; none = every device.
        package var tags: [String]
        package var trigger: Trigger
        /// nil = from its making on.
        package var startsAt: Timestamp?
        package var expiresAt: Timestamp
        package var reach: Reach
        package var locationIDs: [Int64]
        /// What phones make their notification of, by platform, as it was sent.
        package var data: JSON.Members

        package init(
            tags: [String] = [], trigger: Trigger, startsAt: Timestamp? = nil, expiresAt: Timestamp,
            reach: Reach = .all, locationIDs: [Int64], data: JSON.Members
        ) {
            self.tags = tags
            self.trigger = trigger
            self.startsAt = startsAt
            self.expiresAt = expiresAt
            self.reach = reach
            self.locationIDs = locationIDs
            self.data = data
        }

        /// Whether it is in force: phones do not know the start, so it is kept from them until then.
        package func isActive(at now: Timestamp) -> Bool {
            expiresAt > now && startsAt.map { $0 <= now } ?? true
        }
    }

    /// At which crossing the notification is shown.
    package enum Trigger: String, CaseIterable, Sendable, Hashable {
        case enter, exit
    }

    /// On which platforms.
    package enum Reach: String, CaseIterable, Sendable, Hashable {
        case all, ios, android

        package func includes(_ platform: Platform) -> Bool {
            switch self {
            case .all: true
            case .ios: platform == .ios
            case .android: [.android, .androidBaidu, .blackberry].contains(platform)
            }
        }
    }
}
