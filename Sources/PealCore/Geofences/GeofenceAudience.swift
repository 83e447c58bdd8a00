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
