internal import PealCore

/// The part of Compose for one platform alone: fields for what people often set, and a JSON object for everything else,
/// the platform's object of the native API.
struct ComposePlatforms: Sendable {
    /// A member that people often set, which has its own field.
    struct Shortcut: Sendable {
        let name: String
        let platform: Platform
        /// Where the value belongs in the platform's object.
        let path: [String]
        let label: Word
        /// Empty for any text.
        var choices: [String] = []
    }

    static let shortcuts = [
        Shortcut(
            name: "ios_interruption_level", platform: .ios, path: ["payload", "aps", "interruption-level"],
            label: .interruptionLevel, choices: ["passive", "active", "time-sensitive", "critical"]),
        Shortcut(
            name: "android_channel_id", platform: .android, path: ["android", "notification", "channel_id"],
            label: .androidChannel),
        Shortcut(name: "windows_launch", platform: .windows, path: ["launch"], label: .windowsLaunch),
        Shortcut(name: "web_topic", platform: .web, path: ["topic"], label: .webTopic),
    ]

    /// The fields of a form that belong to a platform.
    static let fieldNames = Platform.addressable.map(\.rawValue) + shortcuts.map(\.name)

    let form: Form

    init(_ form: Form) { self.form = form }

    /// The objects of the platforms that the form has fields for.
    /// - Throws: `invalid_field`, naming the field of the form.
    func objects() throws(PealError) -> [(platform: Platform, members: JSON.Members)] {
        var objects: [(platform: Platform, members: JSON.Members)] = []
        for platform in Platform.addressable {
            var members = try written(platform)
            for shortcut in Self.shortcuts where shortcut.platform == platform {
                guard let value = form[shortcut.name] else { continue }
                members = members.setting(.string(value), at: shortcut.path[...])
            }
            if !members.isEmpty { objects.append((platform, members)) }
        }
        return objects
    }

    private func written(_ platform: Platform) throws(PealError) -> JSON.Members {
        let name = platform.rawValue
        guard let text = form[name] else { return .init() }
        guard let members = try ConsoleJSON.parse(text, named: name)?.objectValue else {
            throw .invalid(name, "\(name) must be a JSON object, such as \(Self.example(platform))")
        }
        if let known = Self.members(of: platform), let other = members.names.first(where: { !known.contains($0) }) {
            throw .invalid(name, "\(name) has no member \(other); it may have \(known.joined(separator: ", "))")
        }
        try PlatformOptionsCheck(field: name).check(members["options"])
        return members
    }

    /// The members that the native API knows; nil if the network's own are passed on.
    private static func members(of platform: Platform) -> [String]? {
        let own = platform == .ios ? ["push_type", "payload"] : Networks.contentMembers(of: platform)
        return own.map { $0 + ["options"] }
    }

    /// An object that people may start from.
    static func example(_ platform: Platform) -> String {
        switch platform {
        case .ios: #"{"payload": {"aps": {"relevance-score": 1}}}"#
        case .android: ##"{"android": {"notification": {"color": "#c2410c"}}}"##
        case .web: #"{"payload": {"tag": "news"}}"#
        default: #"{"type": "toast", "fields": {"text": ["Hello"]}}"#
        }
    }
}

/// Writes platforms' objects into the fields of Compose.
extension ComposePlatforms {
    /// - Returns: the values of the fields by their names.
    static func fields(of platform: Platform, _ object: JSON.Members) -> [(name: String, value: String)] {
        var rest = object
        var fields: [(name: String, value: String)] = []
        for shortcut in shortcuts where shortcut.platform == platform {
            guard let value = rest.value(at: shortcut.path[...])?.stringValue, !value.isEmpty,
                shortcut.choices.isEmpty || shortcut.choices.contains(value)
            else { continue }
            fields.append((shortcut.name, value))
            rest = rest.setting(nil, at: shortcut.path[...])
        }
        if !rest.isEmpty { fields.append((platform.rawValue, JSON.object(rest).text)) }
        return fields
    }

    /// The object of a message's content, as the native API takes it.
    static func object(of content: Content.PlatformContent) -> JSON.Members {
        var members = content.fields
        let options = content.options
        var own = JSON.Members()
        own["priority"] = options.priority.map { .string($0.rawValue) }
        switch options.life {
        case .seconds(let seconds): own["ttl_seconds"] = .integer(seconds)
        case .until(let end): own["expires_at"] = .string(end.description)
        case nil: break
        }
        own["collapse_key"] = options.collapseKey.map(JSON.string)
        own["background"] = options.isBackground.map(JSON.bool)
        own["environment"] = options.environment.map { .string($0.rawValue) }
        if !own.isEmpty { members["options"] = .object(own) }
        return members
    }
}

/// Checks the `options` of a platform's object while a draft, too, can name the field.
private struct PlatformOptionsCheck {
    /// The field of the form that has the object.
    let field: String

    func check(_ json: JSON?) throws(PealError) {
        guard let json, !json.isNull else { return }
        guard let members = json.objectValue else { throw wrong("its options must be an object") }
        for (name, value) in members.pairs where !value.isNull {
            if let problem = Self.problem(name, value) { throw wrong(problem) }
        }
        guard members["expires_at"] == nil || members["ttl_seconds"] == nil else {
            throw wrong("its options may have expires_at or ttl_seconds, but not both")
        }
    }

    /// nil for a valid option.
    private static func problem(_ name: String, _ value: JSON) -> String? {
        let text = value.stringValue
        let (isValid, expected): (Bool, String) =
            switch name {
            case "priority": (text.flatMap { MessageOptions.Priority(rawValue: $0) } != nil, "low, normal or high")
            case "collapse_key": (text?.isEmpty == false, "a text")
            case "background": (value.boolValue != nil, "true or false")
            case "environment": (text.flatMap { Environment(alias: $0) } != nil, "production or sandbox")
            case "ttl_seconds":
                (value.integerValue.map { (0...Limits.ttlSecondsMax).contains($0) } == true, "a number of seconds")
            case "expires_at":
                (text.flatMap { Timestamp(rfc3339: $0) } != nil, "a time such as 2026-12-01T09:00:00Z")
            default: (false, "")
            }
        if isValid { return nil }
        return expected.isEmpty ? "there is no option \(name)" : "the option \(name) must be \(expected)"
    }

    private func wrong(_ text: String) -> PealError { .invalid(field, "\(field): \(text)") }
}

extension JSON.Members {
    /// The value behind a path of objects; nil if there is none.
    fileprivate func value(at path: ArraySlice<String>) -> JSON? {
        guard let name = path.first else { return nil }
        return path.count == 1 ? self[name] : self[name]?.objectValue?.value(at: path.dropFirst())
    }

    /// With a value behind a path. Without a value, objects that have become empty are removed too.
    fileprivate func setting(_ value: JSON?, at path: ArraySlice<String>) -> JSON.Members {
        guard let name = path.first else { return self }
        var members = self
        guard path.count > 1 else {
            members[name] = value
            return members
        }
        let inner = (members[name]?.objectValue ?? .init()).setting(value, at: path.dropFirst())
        members[name] = inner.isEmpty ? nil : .object(inner)
        return members
    }
}
