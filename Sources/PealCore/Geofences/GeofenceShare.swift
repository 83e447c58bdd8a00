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
