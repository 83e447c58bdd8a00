internal import PealCore

/// The Android payload of a task. Clients send the keys flat in `data`, within `data.alert`, or in both; FCM carries
/// texts only. Apps find them in either form: `alert` as JSON text, and each key by itself.
struct RichieAndroid {
    private static let alert = "alert"
    private static let taskID = "task_id"

    /// As sent, checked.
    private let submitted: JSON.Members
    /// The documented form: everything in one object, where `alert` wins over the flat keys.
    private let merged: JSON.Members

    /// - Throws: `missing_field` where no body is found.
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

    /// What the device gets: both forms where they fit, else the one that was sent; without the task id where that no
    /// longer fits.
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

    /// Keys that FCM keeps for itself, https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
    /// (`data`); within `alert` they may stand.
    private static func isReserved(_ name: String) -> Bool {
        ["from", "message_type"].contains(name) || name.hasPrefix("google.") || name.hasPrefix("gcm.notification.")
    }

    /// As FCM counts: names and values.
    private static func size(_ data: JSON.Members) -> Int {
        data.pairs.reduce(0) { $0 + $1.0.utf8.count + ($1.1.stringValue?.utf8.count ?? 0) }
    }
}
