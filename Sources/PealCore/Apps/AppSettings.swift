/// The settings of an app. Dialects declare each as a `Setting`; the core stores them by name.
package struct AppSettings: Sendable, Hashable {
    /// The settings by section, as the API shows them and the store keeps them. A missing setting has its default.
    package private(set) var json: JSON

    /// - Parameter json: an object, such as `json` of other settings.
    package init(json: JSON = .object(.init())) { self.json = json }

    package subscript<Value>(setting: Setting<Value>) -> Value {
        get { json[setting.section]?[setting.name].flatMap(Value.init(setting:)) ?? setting.standard }
        set { set(setting, newValue.settingJSON) }
    }

    /// These settings with a value for every one of `declared`, defaults included.
    package func completed(_ declared: [any DeclaredSetting]) -> AppSettings {
        var settings = self
        for setting in declared where json[setting.section]?[setting.name] == nil {
            settings.set(setting, setting.standardJSON)
        }
        return settings
    }

    private mutating func set(_ setting: any DeclaredSetting, _ value: JSON) {
        var sections = json.objectValue ?? .init()
        var section = sections[setting.section]?.objectValue ?? .init()
        section[setting.name] = value
        sections[setting.section] = .object(section)
        json = .object(sections)
    }
}

/// One setting of an app, with its default.
package struct Setting<Value: SettingValue>: Sendable, Hashable {
    package let section: String
    package let name: String
    package let standard: Value

    package init(_ section: String, _ name: String, default standard: Value) {
        self.section = section
        self.name = name
        self.standard = standard
    }
}

/// A setting of any type.
package protocol DeclaredSetting: Sendable {
    var section: String { get }
    var name: String { get }
    var standardJSON: JSON { get }
    /// JSON Schema of the values.
    var schema: JSON { get }
    /// The value in its stored form.
    /// - Throws: `invalid_field` for `path`.
    func checked(_ value: JSON, path: String) throws(PealError) -> JSON
}

extension Setting: DeclaredSetting {
    package var standardJSON: JSON { standard.settingJSON }
    package var schema: JSON { Value.schema }

    package func checked(_ value: JSON, path: String) throws(PealError) -> JSON {
        guard let value = Value(setting: value) else { throw .invalid(path, Value.demand(name, not: value)) }
        return value.settingJSON
    }
}

/// The value of a setting: a flag, a share from 0 to 1, or a number of minutes.
package protocol SettingValue: Sendable, Hashable {
    /// nil if `json` is not a valid value.
    init?(setting json: JSON)
    var settingJSON: JSON { get }
    /// JSON Schema of the values.
    static var schema: JSON { get }
    /// The error message for `value`.
    static func demand(_ name: String, not value: JSON) -> String
}

extension Bool: SettingValue {
    package init?(setting json: JSON) {
        guard let value = json.boolValue else { return nil }
        self = value
    }

    package var settingJSON: JSON { .bool(self) }
    package static let schema: JSON = ["type": "boolean"]

    package static func demand(_ name: String, not value: JSON) -> String {
        "\(name) must be a boolean, not \(value.typeName)"
    }
}

extension Double: SettingValue {
    /// From 0 to 1.
    package init?(setting json: JSON) {
        guard let value = json.doubleValue, (0...1).contains(value) else { return nil }
        self = value
    }

    package var settingJSON: JSON { .number(String(self)) }
    package static let schema: JSON = ["type": "number", "minimum": 0, "maximum": 1]

    package static func demand(_ name: String, not value: JSON) -> String {
        "\(name) must be a number from 0 to 1"
    }
}

/// A time in minutes, up to a week.
package struct Minutes: SettingValue {
    package let count: Int64

    package init(_ count: Int64) { self.count = count }

    package init?(setting json: JSON) {
        guard let value = json.integerValue, (0...Limits.settingMinutesMax).contains(value) else { return nil }
        count = value
    }

    package var seconds: Int64 { count * 60 }
    package var settingJSON: JSON { .integer(count) }
    package static let schema: JSON = [
        "type": "integer", "minimum": 0, "maximum": .integer(Limits.settingMinutesMax),
    ]

    package static func demand(_ name: String, not value: JSON) -> String {
        "\(name) must be 0 to \(Limits.settingMinutesMax) minutes"
    }
}

extension Setting {
    /// The section of the settings of delivery windows and experiments. In the API it has the name of the dialect that
    /// had them first: see decision 16.
    private static var moments: String { "contextpush" }
}

extension Setting<Minutes> {
    /// How long after its delivery window the server still tries to deliver a message that a device could have shown.
    package static let windowGrace = Setting(moments, "grace_minutes", default: Minutes(60))
}

extension Setting<Bool> {
    /// Whether the alert of a message with a delivery window goes to all of the user's devices instead of one.
    package static let alertsAllDevices = Setting(moments, "all_devices", default: false)
    /// Whether a user has the same arm in all experiments that begin from now on.
    package static let experimentPerUser = Setting(moments, "per_user", default: false)
    /// Whether experiments change their share by themselves once they have a verdict.
    package static let appliesDecisions = Setting(moments, "apply_decisions", default: false)
}

extension Setting<Double> {
    /// The share of users whose devices choose the moment, for experiments that begin from now on.
    package static let experimentShare = Setting(moments, "share", default: 0.5)
}
