/// A mobile or web application whose devices Peal reaches.
package struct App: Sendable, Hashable {
    package var id: AppID
    package var key: AppKey
    package var name: String
    package var bundleID: String?
    package var richieAppID: String?
    package var devtodevAppID: String?
    package var settings: AppSettings
    package var createdAt: Timestamp

    package init(
        id: AppID, key: AppKey, name: String, bundleID: String? = nil, richieAppID: String? = nil,
        devtodevAppID: String? = nil, settings: AppSettings = .init(), createdAt: Timestamp
    ) {
        self.id = id
        self.key = key
        self.name = name
        self.bundleID = bundleID
        self.richieAppID = richieAppID
        self.devtodevAppID = devtodevAppID
        self.settings = settings
        self.createdAt = createdAt
    }
}

/// What an app may choose for itself, with the defaults.
package struct AppSettings: Sendable, Hashable {
    package var pivotal = Pivotal()
    package var richie = Richie()
    package var contextpush = ContextPush()
    package var device = DeviceSDK()

    package init() {}

    package struct Pivotal: Sendable, Hashable {
        /// Whether `custom_user_id` must be a signed token.
        package var verifyCustomUserID = true
        /// Whether PUT of an unknown device makes it.
        package var upsertOnPut = true
        /// Whether payloads carry `receiptId`.
        package var sendReceipt = true
        /// Whether a `scheduleIn` beyond 30 days that divides by 1000 is read as milliseconds.
        package var scheduleInMillisHeuristic = false
        /// Whether devices in the topic `pcf.push.heartbeat` get a push each minute.
        package var heartbeat = true

        package init() {}
    }

    package struct Richie: Sendable, Hashable {
        /// Whether bodies may hold what is almost JSON.
        package var lenientJSON = false
        /// Whether links may be http.
        package var allowHTTPLinks = false

        package init() {}
    }

    package struct ContextPush: Sendable, Hashable {
        /// Of the users, how many get their message at a good moment: 0 to 1.
        package var share = 0.5

        package init() {}
    }

    package struct DeviceSDK: Sendable, Hashable {
        /// Whether a device must prove its user.
        package var verifyUserID = true

        package init() {}
    }
}

extension AppSettings {
    /// As the API shows it and as it is stored: every setting, defaults included.
    package var json: JSON {
        [
            "pivotal": [
                "verify_custom_user_id": .bool(pivotal.verifyCustomUserID), "upsert_on_put": .bool(pivotal.upsertOnPut),
                "send_receipt": .bool(pivotal.sendReceipt),
                "schedule_in_millis_heuristic": .bool(pivotal.scheduleInMillisHeuristic),
                "heartbeat": .bool(pivotal.heartbeat),
            ],
            "richie": [
                "lenient_json": .bool(richie.lenientJSON), "allow_http_links": .bool(richie.allowHTTPLinks),
            ],
            "contextpush": ["share": .number(String(contextpush.share))],
            "device": ["verify_user_id": .bool(device.verifyUserID)],
        ]
    }

    /// Applies the members of `json` to these settings. Unknown members and nulls are ignored.
    /// - Throws: `invalid_field` for a value of another type; `not_supported` for a limit that is not built yet.
    package mutating func apply(_ json: JSON, path: String = "settings") throws(PealError) {
        guard json.objectValue != nil else { throw .invalid(path, "\(path) must be an object, not \(json.typeName)") }
        for name in ["quiet_hours", "frequency_cap", "rate_per_second"] {
            if let value = json[name], !value.isNull { throw .unsupported("\(path).\(name)") }
        }
        try Self.setFlag(&pivotal.verifyCustomUserID, json, path, "pivotal", "verify_custom_user_id")
        try Self.setFlag(&pivotal.upsertOnPut, json, path, "pivotal", "upsert_on_put")
        try Self.setFlag(&pivotal.sendReceipt, json, path, "pivotal", "send_receipt")
        try Self.setFlag(&pivotal.scheduleInMillisHeuristic, json, path, "pivotal", "schedule_in_millis_heuristic")
        try Self.setFlag(&pivotal.heartbeat, json, path, "pivotal", "heartbeat")
        try Self.setFlag(&richie.lenientJSON, json, path, "richie", "lenient_json")
        try Self.setFlag(&richie.allowHTTPLinks, json, path, "richie", "allow_http_links")
        try Self.setFlag(&device.verifyUserID, json, path, "device", "verify_user_id")
        if let value = try Self.value(json, path, "contextpush", "share") {
            guard let share = value.doubleValue, (0...1).contains(share) else {
                throw .invalid("\(path).contextpush.share", "share must be a number from 0 to 1")
            }
            contextpush.share = share
        }
    }

    private static func setFlag(
        _ flag: inout Bool, _ json: JSON, _ path: String, _ group: String, _ name: String
    ) throws(PealError) {
        guard let value = try value(json, path, group, name) else { return }
        guard let bool = value.boolValue else {
            throw .invalid("\(path).\(group).\(name)", "must be a boolean, not \(value.typeName)")
        }
        flag = bool
    }

    private static func value(
        _ json: JSON, _ path: String, _ group: String, _ name: String
    ) throws(PealError) -> JSON? {
        guard let members = json[group], !members.isNull else { return Optional.none }
        guard members.objectValue != nil else {
            throw .invalid("\(path).\(group)", "must be an object, not \(members.typeName)")
        }
        guard let value = members[name], !value.isNull else { return Optional.none }
        return value
    }
}
