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
            case .android: platform.family == .android
            }
        }
    }
}

/// Whose geofences changed, and from when on that matters: who is to be told to ask for them.
package struct GeofenceAudience: Sendable, Hashable {
    /// nil = every device on those platforms.
    package private(set) var topics: Set<String>?
    package private(set) var reaches: Set<Geofence.Reach>
    package private(set) var startsAt: Timestamp?
    /// After that, asking would bring nothing.
    package private(set) var expiresAt: Timestamp

    /// The union of what each of `plans` reaches.
    /// - Returns: nil when all of them have ended.
    package init?(_ plans: [Geofence.Plan], now: Timestamp) {
        let live = plans.filter { $0.expiresAt > now }
        guard let first = live.first else { return nil }
        topics = live.contains { $0.tags.isEmpty } ? nil : Set(live.flatMap(\.tags))
        if let count = topics?.count, count > Limits.audienceTopicsMax { topics = nil }
        reaches = Set(live.map(\.reach))
        startsAt = live.contains { $0.isActive(at: now) } ? nil : live.compactMap(\.startsAt).min()
        expiresAt = live.map(\.expiresAt).max() ?? first.expiresAt
    }
}

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

/// What one device must learn to have its geofences right, given what it knew at some instant.
package struct GeofenceShare: Sendable, Hashable {
    /// New or changed ones.
    package let geofences: [Geofence]
    /// What the device may hold and should not, ascending.
    package let deletedIDs: [Int64]
    /// The instant to ask from next time.
    package let lastModified: Timestamp

    /// Who asks.
    package struct Device: Sendable, Hashable {
        package var platform: Platform
        /// Its topics with the instants of joining; nil = nobody knows: everything is told, and phones look at tags
        /// themselves.
        package var topics: [String: Timestamp]?

        package init(platform: Platform, topics: [String: Timestamp]?) {
            self.platform = platform
            self.topics = topics
        }
    }

    /// A geofence is news to a device from the latest of its change, its start, and the device's joining the first of
    /// its topics. One that changed and is not the device's any more is told as deleted; one that ended by itself is
    /// not told, for phones know the end.
    /// - Parameter known: what the device has is of this instant; nil = it has nothing.
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

    /// Since when the geofence has been the device's as far as topics go; nil = it is not.
    private static func joined(_ plan: Geofence.Plan, _ device: Device) -> Timestamp? {
        let ever = Timestamp(milliseconds: 0)
        guard plan.reach.includes(device.platform) else { return nil }
        guard let topics = device.topics, !plan.tags.isEmpty else { return ever }
        return plan.tags.compactMap { topics[$0] }.min()
    }
}
