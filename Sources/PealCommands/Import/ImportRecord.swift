internal import PealCore

/// One device of an import's source.
struct ImportRecord {
    /// The line it begins in, or its place among a server's registrations, from 1.
    let number: Int
    let content: Content

    enum Content {
        case device(JSON)
        /// Not to be imported, which is no fault.
        case skipped
        case bad(reason: String)
    }

    init(number: Int, content: Content) {
        self.number = number
        self.content = content
    }

    /// A device as it was exported: what only the server says goes, and so does what is empty; a retired device is
    /// skipped, because its address is dead.
    init(number: Int, device: JSON, environment: String?) {
        self.number = number
        guard var members = device.objectValue else {
            content = .bad(reason: "not a JSON object but \(device.typeName)")
            return
        }
        if members["state"] == "retired" {
            content = .skipped
            return
        }
        for name in ["state", "registered_at", "retired_at", "retired_reason"] { members[name] = nil }
        for (name, value) in members.pairs where value.isNull || value == "" { members[name] = nil }
        if members["environment"] == nil, members["platform"] == "ios", let environment {
            members["environment"] = .string(environment)
        }
        content = .device(.object(members))
    }
}
