import PealCore

/// Spells the names of FCM's own members in one way, so that an author's `collapse_key` lies over the `collapseKey`
/// that the common fields make. Only known names are touched, and nothing inside what FCM passes on.
enum FCMNames {
    /// Known names of more than one word.
    private static let known: Set<String> = [
        "analyticsLabel", "androidV2", "backgroundSync", "bandwidthConstrainedOk", "bodyLocArgs", "bodyLocKey",
        "bypassProxyNotification", "channelId", "clickAction", "collapseKey", "defaultLightSettings", "defaultSound",
        "defaultVibrateTimings", "directBootOk", "eventTime", "fcmOptions", "lightOffDuration", "lightOnDuration",
        "lightSettings", "liveActivityToken", "localOnly", "mutableContent", "notificationCount",
        "notificationPriority", "remoteNotification", "restrictedPackageName", "restrictedSatelliteOk", "titleLocArgs",
        "titleLocKey", "useAsV1DataMessage", "vibrateTimings",
    ]
    /// Objects whose members are the author's or another network's.
    private static let opaque: Set<String> = ["data", "headers", "payload"]

    /// - Parameter members: of a `Message`.
    static func normalized(_ members: JSON.Members) -> JSON.Members { normalized(members, in: "") }

    private static func normalized(_ members: JSON.Members, in parent: String) -> JSON.Members {
        var out = JSON.Members()
        for (name, value) in members.pairs {
            let name = spelled(name)
            // A web notification's members are those of the browser's own API.
            let isOpaque = opaque.contains(name) || parent == "webpush" && name == "notification"
            if !isOpaque, case .object(let inner) = value {
                out[name] = .object(normalized(inner, in: name))
            } else {
                out[name] = value
            }
        }
        return out
    }

    /// `collapse_key` is `collapseKey`; what is not known stays.
    private static func spelled(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        let words = name.split(separator: "_")
        guard let first = words.first else { return name }
        let joined = words.dropFirst().reduce(String(first)) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
        return known.contains(joined) ? joined : name
    }
}
