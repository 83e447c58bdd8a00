internal import PealCore

/// The iOS payload of a task: every key stays where it was sent, in the alert, in `aps` or beside it.
struct RichieApple {
    /// As sent, checked, without a task id.
    private let members: JSON.Members

    /// - Throws: `missing_field` where no body is found.
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
                // APNs takes nothing but the number ("Pushing background updates to your App").
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

    /// An object of keys, or the body alone.
    private static func alert(_ place: Tolerance, _ keys: inout RichieKeys) throws(PealError) -> JSON? {
        guard let (value, path) = place["alert"] else { return nil }
        if let text = Tolerance.plainText(value) { return .string(text) }
        let alert = try keys.checked(try Tolerance(value, path: path))
        keys.look(at: alert, path)
        return alert.isEmpty ? nil : .object(alert)
    }

    /// What the device gets; without the task id where that no longer fits.
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
