internal import PealCore

/// Writes the push that has the SDKs ask for their geofences: silent on iOS, a data message on Android. It is the push
/// that a backend could send through `/v1/push`, and takes the same way.
struct PivotalGeofenceUpdate: Sendable {
    let app: App
    let id: MessageID
    let lifeSecondsMax: Int64
    let now: Timestamp

    /// What the SDKs look for at the top level of a payload.
    private static let flag = "pivotal.push.geofence_update_available"
    /// Of several that wait for a device that is away, the last is enough.
    private static let collapseKey = "pivotal.push.geofence_update"

    func draft(_ audience: GeofenceAudience) throws(PealError) -> MessageDraft {
        let start = max(now, audience.startsAt ?? now)
        let push: JSON = [
            "message": [
                "custom": [
                    "ios": ["content-available": true, "extra": [Self.flag: "true"]],
                    "android": [Self.flag: "true", "collapse_key": .string(Self.collapseKey)],
                ]
            ],
            "target": Self.target(audience), "expiryTime": .integer(audience.expiresAt.milliseconds),
        ]
        let reader = PivotalReader(lifeSecondsMax: lifeSecondsMax)
        var draft = try reader.draft(push, id: id, app: app, createdAt: now, now: start).draft
        draft.content.platforms[.ios]?.options.collapseKey = Self.collapseKey
        if start > now {
            draft.startAt = start
            draft.source = push.bytes
        }
        return draft
    }

    private static func target(_ audience: GeofenceAudience) -> JSON {
        let platforms: [JSON]
        switch audience.reaches {
        case [.ios]: platforms = ["ios"]
        case [.android]: platforms = ["android"]
        default: platforms = ["ios", "android"]
        }
        let topics = audience.topics.map { $0.sorted().map(JSON.string) } ?? []
        return ["platforms": .array(platforms), "topics": .array(topics)]
    }
}
