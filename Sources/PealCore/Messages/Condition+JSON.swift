/// A condition in the form of the API, which the store keeps too.
extension Condition {
    package var json: JSON {
        switch self {
        case .and(let parts): ["and": .array(parts.map(\.json))]
        case .or(let parts): ["or": .array(parts.map(\.json))]
        case .not(let part): ["not": part.json]
        case .topic(let name): ["topic": .string(name)]
        case .user(let id): ["user": .string(id)]
        case .device(let id): ["device": .string(id.description)]
        case .segment(let name): ["segment": .string(name)]
        case .platform(let platform): ["platform": .string(platform.rawValue)]
        case .locale(let tag): ["locale": .string(tag)]
        case .timeZone(let name): ["time_zone": .string(name)]
        case .attribute(let name, let tests):
            ["attribute": .object(.init([("name", .string(name))] + tests.map(\.member)))]
        case .appVersion(let tests): ["app_version": .object(.init(tests.map(\.member)))]
        case .seen(let days): ["seen": ["within_days": .integer(days)]]
        case .registered(let instant): ["registered": ["after": .string(instant.description)]]
        }
    }

    /// Reads what `json` wrote.
    /// - Returns: nil for anything else.
    package init?(stored json: JSON) {
        guard let members = json.objectValue, members.count == 1, let name = members.names.first,
            let value = members[name], let condition = Self.read(name, value)
        else { return nil }
        self = condition
    }

    private static func read(_ name: String, _ value: JSON) -> Condition? {
        switch name {
        case "and": parts(value).map(Condition.and)
        case "or": parts(value).map(Condition.or)
        case "not": Condition(stored: value).map(Condition.not)
        case "topic": value.stringValue.map(Condition.topic)
        case "user": value.stringValue.map(Condition.user)
        case "device": value.stringValue.flatMap { DeviceID($0) }.map(Condition.device)
        case "segment": value.stringValue.map(Condition.segment)
        case "platform": value.stringValue.flatMap(Platform.init(rawValue:)).map(Condition.platform)
        case "locale": value.stringValue.map { .locale($0) }
        case "time_zone": value.stringValue.map(Condition.timeZone)
        case "attribute": value["name"]?.stringValue.map { .attribute($0, tests(value)) }
        case "app_version": .appVersion(tests(value))
        case "seen": value["within_days"]?.integerValue.map { .seen(withinDays: $0) }
        case "registered": value["after"]?.stringValue.flatMap(Timestamp.init(rfc3339:)).map { .registered(after: $0) }
        default: nil
        }
    }

    private static func parts(_ json: JSON) -> [Condition]? {
        guard let elements = json.arrayValue else { return nil }
        let parts = elements.compactMap(Condition.init(stored:))
        return parts.count == elements.count ? parts : nil
    }

    private static func tests(_ json: JSON) -> [ConditionTest] {
        ConditionTest.Operator.allCases.compactMap { test in json[test.rawValue].map { ConditionTest(test, $0) } }
    }
}

extension ConditionTest {
    fileprivate var member: (String, JSON) { (test.rawValue, value) }
}
