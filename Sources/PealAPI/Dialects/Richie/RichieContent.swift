internal import PealCore

/// Reads the payloads of a task: what each platform is sent, in the form that the native API gives it, and how the
/// report shows it.
struct RichieContent {
    private(set) var content = Content()
    /// `payloads` of the report.
    private(set) var reported: JSON.Members = .init()
    /// Warnings about what is accepted although it is unusual. They contain nothing of the request.
    private(set) var warnings: [String] = []

    /// - Throws: `payload_too_large` for more than `Limits.richiePayloadBytesMax` of what was sent for a platform.
    init(_ body: Tolerance, taskID: String, allowsHTTP: Bool) throws(PealError) {
        guard let payloads = try body.object("payloads") else { throw .missing("payloads") }
        var keys = RichieKeys(allowsHTTP: allowsHTTP)
        if let android = try payloads.object("android") {
            try Self.check(android)
            let android = try RichieAndroid(android, &keys)
            content.platforms[.android] = .init(
                fields: JSON.Members([("data", .object(android.data(taskID: taskID))), ("data_only", true)]))
            reported["android"] = android.reported(taskID: taskID)
        }
        if let ios = try payloads.object("ios") {
            try Self.check(ios)
            let ios = try RichieApple(ios, &keys)
            content.platforms[.ios] = .init(
                fields: JSON.Members([("payload", .object(ios.payload(taskID: taskID)))]))
            reported["ios"] = ios.reported(taskID: taskID)
        }
        guard !content.platforms.isEmpty else {
            throw PealError(.missingField, "payloads must hold ios or android", field: "payloads")
        }
        warnings = keys.warnings
    }

    /// Counts compact JSON, so that neither indentation nor what Peal adds counts against the author.
    private static func check(_ payload: Tolerance) throws(PealError) {
        let document = JSON.object(payload.members)
        let count = document.bytes.count
        guard count <= Limits.richiePayloadBytesMax else {
            throw PealError(
                .payloadTooLarge, "\(payload.path) has \(count) bytes, \(Limits.richiePayloadBytesMax) is the most",
                field: payload.path)
        }
        try ControlCharacters.refuse(in: document, payload.path, except: ControlCharacters.inContent)
    }
}

/// The documented keys of a notification (https://richie.dev/docs/push/push-api), checked wherever they occur. All
/// others are the app's own, for its analytics, and are passed on as they are.
struct RichieKeys {
    let allowsHTTP: Bool
    private(set) var warnings: [String] = []

    /// The keys that the system shows.
    private static let shown = ["title", "body"]
    private static let link = "external-browser-url"
    private static let page = "issue-page"
    private static let item = "publisher-item-id"
    private static let texts =
        shown + [
            item, link, "issue-guid", "issue-title", "issue-product-tag", "tab-id",
        ]
    /// The keys of an APNs alert that contain a dash ("Generating a remote notification", table 2).
    private static let apple: Set<String> = [
        "title-loc-key", "title-loc-args", "subtitle-loc-key", "subtitle-loc-args", "loc-key", "loc-args",
        "action-loc-key", "launch-image", "summary-arg", "summary-arg-count",
    ]

    init(allowsHTTP: Bool) { self.allowsHTTP = allowsHTTP }

    /// The members of one object, without documented ones that are null or "". Title and body become strings, which
    /// systems show; everything else stays as written.
    mutating func checked(_ object: Tolerance) throws(PealError) -> JSON.Members {
        var members = object.members
        for name in Self.texts where members[name] != nil {
            guard let (value, path) = object[name] else {
                members[name] = nil
                continue
            }
            guard let text = Tolerance.plainText(value) else {
                throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
            }
            if Self.shown.contains(name) { members[name] = .string(text) }
            if name == Self.link { try check(link: text, path) }
        }
        if members[Self.page] != nil, try object.integer(Self.page) == nil { members[Self.page] = nil }
        return members
    }

    /// Collects warnings about what the documentation rules out although clients do it.
    mutating func look(at notification: JSON.Members, _ path: String) {
        let names = notification.names
        let documented = Set(Self.texts + [Self.page]).union(Self.apple)
        let dashed = names.count { $0.contains("-") && !documented.contains($0) }
        if dashed > 0 { warnings.append("\(path) has \(dashed) keys with a dash, which analytics cannot take") }
        if names.contains(Self.item), names.contains(Self.link), !names.contains("tab-id") {
            warnings.append("\(path) has both \(Self.item) and \(Self.link)")
        }
    }

    mutating func warn(_ words: String) { warnings.append(words) }

    private mutating func check(link: String, _ path: String) throws(PealError) {
        let lowered = link.lowercased()
        let isSecure = lowered.hasPrefix("https://")
        guard isSecure || (allowsHTTP && lowered.hasPrefix("http://")) else {
            throw .invalid(path, "\(path) must be an https URL")
        }
        let host = link.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !host.isEmpty, link.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .invalid(path, "\(path) must be a full URL without spaces")
        }
        if !isSecure { warnings.append("\(path) is not https") }
    }
}

/// The iOS payload of a task: every key stays where it is, in the alert, in `aps` or at the top level.
struct RichieApple {
    /// As received, checked, without a task id.
    private let members: JSON.Members

    /// - Throws: `missing_field` if there is no body.
    init(_ ios: Tolerance, _ keys: inout RichieKeys) throws(PealError) {
        var members = try keys.checked(ios)
        var places = [members]
        if let alert = try Self.alert(ios, &keys) {
            members["alert"] = alert
            places.append(Self.keys(of: alert))
        }
        if let own = try ios.object("aps") {
            var aps = try keys.checked(own)
            places.insert(aps, at: 0)
            if let alert = try Self.alert(own, &keys) {
                aps["alert"] = alert
                places.insert(Self.keys(of: alert), at: 0)
            } else {
                aps["alert"] = nil
            }
            if aps["content-available"] != nil {
                // APNs accepts only the number ("Pushing background updates to your App").
                aps["content-available"] = try own.flag("content-available").map { $0 ? 1 : 0 }
            }
            members["aps"] = .object(aps)
        } else {
            members["aps"] = nil
        }
        if members["aps"]?["alert"] == nil { keys.warn("\(ios.path) has no aps.alert: iOS shows nothing by itself") }
        guard places.contains(where: { $0["body"] != nil }) else { throw .missing("\(ios.path).aps.alert.body") }
        self.members = members
    }

    private static func keys(of alert: JSON) -> JSON.Members {
        alert.objectValue ?? JSON.Members([("body", alert)])
    }

    /// An object of keys, or only the body.
    private static func alert(_ place: Tolerance, _ keys: inout RichieKeys) throws(PealError) -> JSON? {
        guard let (value, path) = place["alert"] else { return nil }
        if let text = Tolerance.plainText(value) { return .string(text) }
        let alert = try keys.checked(try Tolerance(value, path: path))
        keys.look(at: alert, path)
        return alert.isEmpty ? nil : .object(alert)
    }

    /// What the device receives; without the task id if it would not fit.
    func payload(taskID: String) -> JSON.Members {
        let named = named(taskID)
        return JSON.object(named).bytes.count <= Limits.apnsPayloadBytesMax ? named : members
    }

    /// What the report shows.
    func reported(taskID: String) -> JSON { .object(named(taskID)) }

    private func named(_ taskID: String) -> JSON.Members {
        var aps = members["aps"]?.objectValue ?? .init()
        aps["task_id"] = .string(taskID)
        var named = members
        named["aps"] = .object(aps)
        return named
    }
}

/// The Android payload of a task. Clients send the keys in `data`, in `data.alert`, or in both; FCM carries only
/// strings. Apps receive them in both forms: `alert` as JSON text, and each key by itself.
struct RichieAndroid {
    private static let alert = "alert"
    private static let taskID = "task_id"

    /// As received, checked.
    private let submitted: JSON.Members
    /// The documented form: everything in one object, where `alert` wins over the flat keys.
    private let merged: JSON.Members

    /// - Throws: `missing_field` if there is no body.
    init(_ android: Tolerance, _ keys: inout RichieKeys) throws(PealError) {
        guard let data = try android.object("data") else { throw .missing(android.path("data")) }
        var submitted = try keys.checked(data)
        var merged = submitted
        merged[Self.alert] = nil
        submitted[Self.alert] = nil
        if let (value, path) = data[Self.alert] {
            if let text = Tolerance.plainText(value) {
                merged["body"] = .string(text)
                submitted[Self.alert] = .string(text)
            } else {
                let nested = try keys.checked(try Tolerance(value, path: path))
                for (name, value) in nested.pairs { merged[name] = value }
                submitted[Self.alert] = .object(nested)
            }
        }
        guard merged["body"] != nil else { throw .missing("\(data.path).body") }
        keys.look(at: merged, data.path)
        self.submitted = submitted
        self.merged = merged
    }

    /// What the device receives: both forms if they fit, otherwise the one that was sent; without the task id if it
    /// would not fit.
    func data(taskID: String) -> JSON.Members {
        var both = Self.texts(merged)
        both[Self.alert] = .string(JSON.object(merged).text)
        both[Self.taskID] = .string(taskID)
        if Self.size(both) <= Limits.fcmPayloadBytesMax { return both }
        let sent = Self.texts(submitted)
        var named = sent
        named[Self.taskID] = .string(taskID)
        return Self.size(named) <= Limits.fcmPayloadBytesMax ? named : sent
    }

    /// What the report shows.
    func reported(taskID: String) -> JSON {
        ["data": [Self.alert: .object(merged), Self.taskID: .string(taskID)]]
    }

    private static func texts(_ members: JSON.Members) -> JSON.Members {
        var texts = JSON.Members()
        for (name, value) in members.pairs where !value.isNull && !isReserved(name) {
            texts[name] = .string(Tolerance.plainText(value) ?? value.text)
        }
        return texts
    }

    /// Keys that FCM reserves, https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
    /// (`data`); inside `alert` they are allowed.
    private static func isReserved(_ name: String) -> Bool {
        ["from", "message_type"].contains(name) || name.hasPrefix("google.") || name.hasPrefix("gcm.notification.")
    }

    /// As FCM counts: names and values.
    private static func size(_ data: JSON.Members) -> Int {
        data.pairs.reduce(0) { $0 + $1.0.utf8.count + ($1.1.stringValue?.utf8.count ?? 0) }
    }
}
