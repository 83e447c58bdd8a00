internal import PealCore
internal import PealShapes

/// Reads the payloads of a task: the content for each network, and the payloads that the report shows.
struct RichieContent {
    private(set) var content = Content()
    /// `payloads` in the report.
    private(set) var reported: JSON.Members = .init()
    /// Warnings about unusual but accepted values. They contain nothing from the request.
    private(set) var warnings: [String] = []

    init(_ payloads: RichiePayloads, taskID: String, allowsHTTP: Bool) throws(PealError) {
        var check = RichieCheck(allowsHTTP: allowsHTTP)
        if let given = payloads.android {
            let android = try RichieAndroid(given, &check)
            content.platforms[.android] = .init(FCMContent(data: android.data(taskID: taskID)))
            reported["android"] = android.reported(taskID: taskID)
        }
        if let given = payloads.ios {
            let ios = try RichieApple(given, &check)
            content.platforms[.ios] = .init(ios.content(taskID: taskID))
            reported["ios"] = ios.reported(taskID: taskID)
        }
        warnings = check.warnings
    }
}

/// Checks payloads against the app's settings and collects warnings for the operator.
struct RichieCheck {
    let allowsHTTP: Bool
    private(set) var warnings: [String] = []

    /// Apple's own keys, most of which have a dash ("Generating a remote notification").
    private static let apple: Set<String> = [
        // In `aps`.
        "attributes", "attributes-type", "content-available", "content-state", "dismissal-date", "filter-criteria",
        "input-push-token", "interruption-level", "mutable-content", "relevance-score", "sound", "stale-date",
        "target-content-id", "thread-id", "url-args",
        // In its alert.
        "title-loc-key", "title-loc-args", "subtitle-loc-key", "subtitle-loc-args", "loc-key", "loc-args",
        "action-loc-key", "launch-image", "summary-arg", "summary-arg-count",
    ]

    init(allowsHTTP: Bool) { self.allowsHTTP = allowsHTTP }

    /// - Throws: `invalid_field` for a link without TLS, unless the app allows such links.
    mutating func check(linksOf object: RichieObject) throws(PealError) {
        for link in object.links where !link.value.lowercased().hasPrefix("https://") {
            guard allowsHTTP else { throw .invalid(link.path, "\(link.path) must be an https URL") }
            warnings.append("\(link.path) is not https")
        }
    }

    /// Collects warnings about values that the documentation excludes although clients send them.
    mutating func look(at notification: JSON.Members, _ path: String) {
        let names = notification.names
        let documented = Set(RichieObject.texts + [RichieObject.link, RichieObject.page]).union(Self.apple)
        let dashed = names.count { $0.contains("-") && !documented.contains($0) }
        warn(of: dashed, "with a dash", in: path)
        let nested = notification.pairs.count { name, value in
            !documented.contains(name) && !["alert", "aps"].contains(name)
                && (value.objectValue != nil || value.arrayValue != nil)
        }
        warn(of: nested, "with a nested value", in: path)
        if names.contains(RichieObject.item), names.contains(RichieObject.link), !names.contains("tab-id") {
            warnings.append("\(path) has both \(RichieObject.item) and \(RichieObject.link)")
        }
    }

    private mutating func warn(of count: Int, _ what: String, in path: String) {
        guard count > 0 else { return }
        warnings.append("\(path) has \(Spelling.counted(count, "key")) \(what), which analytics does not support")
    }

    mutating func warn(_ words: String) { warnings.append(words) }
}

/// The iOS payload of a task. Every key stays where it is: in the alert, in `aps` or at the top level.
struct RichieApple {
    /// As received and checked, without a task id.
    private let members: JSON.Members

    init(_ ios: Located<RichieApplePayload>, _ check: inout RichieCheck) throws(PealError) {
        let (object, own) = (ios.value.object, ios.value.aps)
        var members = object.members
        try check.check(linksOf: object)
        check.look(at: object.members, ios.path)
        if let alert = try Self.alert(object, &check) { members["alert"] = alert }
        if let own {
            var aps = own.members
            try check.check(linksOf: own)
            check.look(at: own.members, "\(ios.path).aps")
            aps["alert"] = try Self.alert(own, &check)
            if aps["content-available"] != nil {
                // APNs accepts only the number ("Pushing background updates to your App").
                aps["content-available"] = own.isContentAvailable.map { $0 ? 1 : 0 }
            }
            // APNs has no increments, and phones ignore a badge that is a string.
            if aps["badge"] != nil { aps["badge"] = own.badge.map { .integer($0) } }
            members["aps"] = .object(aps)
        } else {
            members["aps"] = nil
        }
        if members["aps"]?["alert"] == nil { check.warn("\(ios.path) has no aps.alert: iOS shows no notification") }
        self.members = members
    }

    /// An object of keys, or only the body.
    private static func alert(_ object: RichieObject, _ check: inout RichieCheck) throws(PealError) -> JSON? {
        switch object.alert {
        case nil: return nil
        case .text(let text): return .string(text)
        case .keys(let keys):
            try check.check(linksOf: keys.value)
            check.look(at: keys.value.members, keys.path)
            return keys.value.members.isEmpty ? nil : .object(keys.value.members)
        }
    }

    /// What the device receives; without the task id if it would not fit.
    func content(taskID: String) -> APNsContent {
        let named = named(taskID)
        let payload = JSON.object(named).bytes.count <= Limits.apnsPayloadBytesMax ? named : members
        guard let aps = members["aps"], aps["event"]?.stringValue != nil else { return APNsContent(payload: payload) }
        // The key is the app's own: a task cannot reach a Live Activity, to which it would belong otherwise.
        let isSilent = aps["content-available"] == 1 && !APNsContent.isVisible(aps)
        let type: JSON = isSilent ? "background" : "alert"
        return APNsContent(members: JSON.Members([("payload", .object(payload)), ("push_type", type)]))
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
/// strings. Apps receive both forms: `alert` as a JSON string, and one string for each key.
struct RichieAndroid {
    private static let alert = "alert"
    private static let taskID = "task_id"

    /// As received and checked.
    private let submitted: JSON.Members
    /// The documented form: everything in one object. Keys in `alert` override the flat keys.
    private let merged: JSON.Members

    init(_ android: Located<RichieObject>, _ check: inout RichieCheck) throws(PealError) {
        let data = android.value
        var submitted = data.members
        try check.check(linksOf: data)
        var merged = submitted
        merged[Self.alert] = nil
        submitted[Self.alert] = nil
        switch data.alert {
        case nil: break
        case .text(let text):
            merged["body"] = .string(text)
            submitted[Self.alert] = .string(text)
        case .keys(let nested):
            try check.check(linksOf: nested.value)
            for (name, value) in nested.value.members.pairs { merged[name] = value }
            submitted[Self.alert] = .object(nested.value.members)
        }
        check.look(at: merged, "\(android.path).data")
        self.submitted = submitted
        self.merged = merged
    }

    /// What the device receives: both forms if they fit, otherwise the form that the client sent; without the task id
    /// if that would not fit.
    func data(taskID: String) -> JSON.Members {
        var both = Self.texts(merged)
        both[Self.alert] = .string(JSON.object(merged).text)
        both[Self.taskID] = .string(taskID)
        if FCMContent.size(of: both) <= Limits.fcmPayloadBytesMax { return both }
        let sent = Self.texts(submitted)
        var named = sent
        named[Self.taskID] = .string(taskID)
        return FCMContent.size(of: named) <= Limits.fcmPayloadBytesMax ? named : sent
    }

    /// What the report shows.
    func reported(taskID: String) -> JSON {
        ["data": [Self.alert: .object(merged), Self.taskID: .string(taskID)]]
    }

    private static func texts(_ members: JSON.Members) -> JSON.Members {
        var texts = JSON.Members()
        for (name, value) in members.pairs where !value.isNull && !FCMContent.isReserved(name) {
            texts[name] = .string(value.asText)
        }
        return texts
    }
}
