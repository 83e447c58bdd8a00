/// The fields of a request to FCM, as in the machine-readable description of its API (fcm.v1.json), by message.
enum FCMSchema {
    static let messages: [String: [String: FCMType]] = [
        "SendMessageRequest": ["message": .message("Message"), "validateOnly": .truth],
        "Message": [
            "name": .string, "fid": .string, "token": .string, "topic": .string, "condition": .string,
            "notification": .message("Notification"), "data": .strings, "android": .message("AndroidConfig"),
            "androidV2": .message("AndroidConfigV2"), "apns": .message("ApnsConfig"),
            "webpush": .message("WebpushConfig"), "fcmOptions": .message("FcmOptions"),
        ],
        "Notification": ["title": .string, "body": .string, "image": .string],
        "FcmOptions": ["analyticsLabel": .string],
        "AndroidConfig": androidConfig.merging([
            "priority": .choice(["NORMAL", "HIGH"]), "notification": .message("AndroidNotification"),
        ]) { $1 },
        "AndroidConfigV2": androidConfig.merging([
            "remoteNotification": .message("RemoteNotification"), "backgroundSync": .message("BackgroundSync"),
        ]) { $1 },
        "RemoteNotification": [
            "mutableContent": .truth, "useAsV1DataMessage": .truth, "notification": .message("AndroidNotificationV2"),
        ],
        "BackgroundSync": [:],
        "AndroidFcmOptions": ["analyticsLabel": .string],
        "AndroidNotification": androidNotification.merging([
            "proxy": .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"])
        ]) { $1 },
        "AndroidNotificationV2": androidNotification.merging(["id": .int32]) { $1 },
        "LightSettings": [
            "color": .message("Color"), "lightOnDuration": .duration, "lightOffDuration": .duration,
        ],
        "Color": ["red": .double, "green": .double, "blue": .double, "alpha": .double],
        "ApnsConfig": [
            "headers": .strings, "payload": .anything, "fcmOptions": .message("ApnsFcmOptions"),
            "liveActivityToken": .string,
        ],
        "ApnsFcmOptions": ["analyticsLabel": .string, "image": .string],
        "WebpushConfig": [
            "headers": .strings, "data": .strings, "notification": .anything,
            "fcmOptions": .message("WebpushFcmOptions"),
        ],
        "WebpushFcmOptions": ["link": .string, "analyticsLabel": .string],
    ]

    private static let androidConfig: [String: FCMType] = [
        "collapseKey": .string, "ttl": .duration, "restrictedPackageName": .string, "data": .strings,
        "fcmOptions": .message("AndroidFcmOptions"), "directBootOk": .truth, "bandwidthConstrainedOk": .truth,
        "restrictedSatelliteOk": .truth,
    ]

    private static let androidNotification: [String: FCMType] = [
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "clickAction": .string, "bodyLocKey": .string, "bodyLocArgs": .list(.string), "titleLocKey": .string,
        "titleLocArgs": .list(.string), "channelId": .string, "ticker": .string, "sticky": .truth,
        "eventTime": .timestamp, "localOnly": .truth, "defaultSound": .truth, "defaultVibrateTimings": .truth,
        "defaultLightSettings": .truth, "vibrateTimings": .list(.duration), "notificationCount": .int32,
        "lightSettings": .message("LightSettings"), "image": .string, "bypassProxyNotification": .truth,
        "notificationPriority": .choice([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "visibility": .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
    ]

    /// Converts `snake_case` to `camelCase`: proto JSON accepts field names in both.
    static func camelCase(_ name: String) -> String {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count > 1, !parts.contains(where: \.isEmpty) else { return name }
        return String(parts[0]) + parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

/// The types of the fields of a message, as represented in JSON (https://protobuf.dev/programming-guides/json/).
indirect enum FCMType: Sendable {
    case string, truth, int32, double, duration, timestamp
    case choice([String])
    /// An object whose values are strings.
    case strings
    /// Any object.
    case anything
    case list(FCMType)
    /// An object with the fields of `FCMSchema.messages` under this name.
    case message(String)

    /// The name that Google uses in errors.
    var name: String {
        switch self {
        case .string, .strings: "TYPE_STRING"
        case .truth: "TYPE_BOOL"
        case .int32: "TYPE_INT32"
        case .double: "TYPE_FLOAT"
        case .duration: "type.googleapis.com/google.protobuf.Duration"
        case .timestamp: "type.googleapis.com/google.protobuf.Timestamp"
        case .choice: "TYPE_ENUM"
        case .anything: "type.googleapis.com/google.protobuf.Struct"
        case .list(let type): type.name
        case .message(let name): "type.googleapis.com/google.firebase.fcm.v1.\(name)"
        }
    }
}
