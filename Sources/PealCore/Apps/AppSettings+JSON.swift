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

    /// Lays what `json` gives over these settings; unknown members and nulls are passed over.
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
