/// Locations at whose border devices show a notification themselves, and the devices that do.
package struct Geofence: Sendable, Hashable {
    /// Counted from 1 in each app.
    package var id: Int64
    package var plan: Plan
    /// The locations in `plan.locationIDs`, in that order.
    package var locations: [GeofenceLocation]
    package var createdAt: Timestamp
    /// Different for any two changes in one app, so that a device that asks for changes since one instant misses none.
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
        /// A device in any of these topics has the geofence; if empty, all devices have it.
        package var tags: [String]
        package var trigger: Trigger
        /// nil if it starts when it is created.
        package var startsAt: Timestamp?
        package var expiresAt: Timestamp
        package var reach: Reach
        package var locationIDs: [Int64]
        /// The data for the notification on the devices, by platform, as received.
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

        /// Whether it is in force. Devices do not know the start, so they receive it only from then on.
        package func isActive(at now: Timestamp) -> Bool {
            expiresAt > now && startsAt.map { $0 <= now } ?? true
        }
    }

    /// The crossing at which the notification is shown.
    package enum Trigger: String, CaseIterable, Sendable, Hashable {
        case enter, exit
    }

    /// The platforms that have it.
    package enum Reach: String, CaseIterable, Sendable, Hashable {
        case all, ios, android

        package func includes(_ platform: Platform) -> Bool {
            switch self {
            case .all: true
            case .ios: platform == .ios
            case .android: platform.family == .android
            }
        }
    }
}

/// The devices that must fetch their geofences again because of a change, from when, and until when.
package struct GeofenceAudience: Sendable, Hashable {
    /// nil for all devices on those platforms.
    package let topics: Set<String>?
    package let reaches: Set<Geofence.Reach>
    /// nil for immediately.
    package let startsAt: Timestamp?
    /// After this instant, fetching is useless.
    package let expiresAt: Timestamp

    /// The audiences of a change: at once the devices that a geofence in force reaches, and at the start of a changed
    /// geofence that has not begun the devices that it will reach. Devices do not know a geofence before it begins.
    package static func all(
        before: [Geofence.Plan], after: [Geofence.Plan], now: Timestamp
    ) -> [GeofenceAudience] {
        let audience = GeofenceAudience((before + after).filter { $0.isActive(at: now) }, startsAt: nil)
        let later = after.filter { $0.expiresAt > now && !$0.isActive(at: now) }
        return (audience.map { [$0] } ?? []) + later.compactMap { GeofenceAudience([$0], startsAt: $0.startsAt) }
    }

    /// The union of the devices that `plans` reach; nil without plans.
    private init?(_ plans: [Geofence.Plan], startsAt: Timestamp?) {
        guard let end = plans.map(\.expiresAt).max() else { return nil }
        let topics = plans.contains { $0.tags.isEmpty } ? nil : Set(plans.flatMap(\.tags))
        self.topics = topics.flatMap { $0.count > Limits.audienceTopicsMax ? nil : $0 }
        reaches = Set(plans.map(\.reach))
        self.startsAt = startsAt
        expiresAt = end
    }
}

/// All geofences of an app and a record of deleted ones, from which a device's share is computed.
package struct GeofenceLedger: Sendable, Hashable {
    package var geofences: [Geofence]
    package var deleted: [Deleted]
    /// The latest change of any geofence; nil before the first.
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

/// The changes that update one device's geofences from a known state.
package struct GeofenceShare: Sendable, Hashable {
    /// New or changed geofences.
    package let geofences: [Geofence]
    /// Geofences that the device may have and must remove, in ascending order.
    package let deletedIDs: [Int64]
    /// The instant from which to ask next time.
    package let lastModified: Timestamp

    /// The device that asks for changes.
    package struct Device: Sendable, Hashable {
        package var platform: Platform
        /// The device's topics with the instants of joining. nil if unknown: it then gets all geofences and checks the
        /// tags itself.
        package var topics: [ExactText: Timestamp]?

        package init(platform: Platform, topics: [ExactText: Timestamp]?) {
            self.platform = platform
            self.topics = topics
        }
    }

    /// A geofence is new to a device from the latest of three instants: its change, its start, and when the device
    /// joined the first of its topics. A changed geofence that the device no longer has is reported as deleted. One
    /// that ended is not reported, because devices know the end.
    /// - Parameter known: The instant of the device's state; nil if it has none.
    package init(_ ledger: GeofenceLedger, for device: Device, since known: Timestamp?, now: Timestamp) {
        var (news, gone): ([Geofence], Set<Int64>) = ([], [])
        var latest = ledger.changedAt ?? Timestamp(milliseconds: 0)
        for geofence in ledger.geofences {
            let isChanged = known.map { geofence.updatedAt > $0 } ?? true
            guard let joinedAt = Self.joined(geofence.plan, device), geofence.plan.isActive(at: now) else {
                if known != nil, isChanged { gone.insert(geofence.id) }
                continue
            }
            let since = max(joinedAt, geofence.plan.startsAt ?? joinedAt)
            latest = max(latest, since)
            if isChanged || known.map({ since > $0 }) == true { news.append(geofence) }
        }
        if let known { gone.formUnion(ledger.deleted.filter { $0.at > known }.map(\.id)) }
        geofences = news
        deletedIDs = gone.sorted()
        lastModified = latest
    }

    /// Since when the device has the geofence through its topics; nil if it does not.
    private static func joined(_ plan: Geofence.Plan, _ device: Device) -> Timestamp? {
        let ever = Timestamp(milliseconds: 0)
        guard plan.reach.includes(device.platform) else { return nil }
        guard let topics = device.topics, !plan.tags.isEmpty else { return ever }
        return plan.tags.compactMap { topics[ExactText($0)] }.min()
    }
}

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
