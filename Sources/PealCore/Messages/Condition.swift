/// Which devices a message is for, by their properties and subscriptions: `audience.where`, and what a segment names.
package indirect enum Condition: Sendable, Hashable {
    case and([Condition])
    case or([Condition])
    case not(Condition)
    case topic(String)
    case user(String)
    case device(DeviceID)
    /// A named condition of the app; planning replaces it with that condition.
    case segment(String)
    case platform(Platform)
    /// A language tag that the device's locale equals, or begins with as RFC 4647 §3.3.1 says: `de` matches `de-AT`.
    case locale(String)
    case timeZone(String)
    case attribute(String, [ConditionTest])
    /// Tests of the app's version, which is compared number by number instead of as a text.
    case appVersion([ConditionTest])
    /// Devices whose last registration is at most this old.
    case seen(withinDays: Int64)
    /// Devices that registered for the first time, or again after they were retired, later than that.
    case registered(after: Timestamp)

    /// The member of an audience or a segment that holds the condition. Paths of invalid fields begin with it.
    package static let fieldName = "where"

    /// The conditions directly inside it, each with its path, such as `and[1]`.
    package var parts: [(path: String, condition: Condition)] {
        switch self {
        case .and(let parts): parts.enumerated().map { ("and[\($0)]", $1) }
        case .or(let parts): parts.enumerated().map { ("or[\($0)]", $1) }
        case .not(let part): [("not", part)]
        case .topic, .user, .device, .segment, .platform, .locale, .timeZone, .attribute, .appVersion, .seen,
            .registered:
            []
        }
    }

    /// The number of conditions in it, including itself.
    package var size: Int { parts.reduce(1) { $0 + $1.condition.size } }

    /// The depth of its nesting, including itself.
    package var depth: Int { 1 + (parts.map(\.condition.depth).max() ?? 0) }

    /// Evaluates the condition; `leaf` evaluates conditions without parts.
    package func holds(_ leaf: (Condition) throws -> Bool) rethrows -> Bool {
        switch self {
        case .and(let parts): try parts.allSatisfy { try $0.holds(leaf) }
        case .or(let parts): try parts.contains { try $0.holds(leaf) }
        case .not(let part): try !part.holds(leaf)
        case .topic, .user, .device, .segment, .platform, .locale, .timeZone, .attribute, .appVersion, .seen,
            .registered:
            try leaf(self)
        }
    }

    /// Evaluates the condition for an address that no device has: only its platform is known.
    package func matches(addressOn platform: Platform) -> Bool {
        holds { leaf in
            switch leaf {
            case .platform(let named): named == platform
            case .attribute(_, let tests): tests.allSatisfy { $0.passes(nil) }
            case .appVersion(let tests): tests.allSatisfy { $0.passes(version: nil) }
            case .and, .or, .not, .topic, .user, .device, .segment, .locale, .timeZone, .seen, .registered: false
            }
        }
    }

    /// Whether it may hold for a device of the platform, whatever its other properties are.
    func mayHold(on platform: Platform) -> Bool { outlook(on: platform).mayHold }

    /// The possible results for a device of which only the platform is known.
    private func outlook(on platform: Platform) -> (mayHold: Bool, mayFail: Bool) {
        switch self {
        case .and(let parts):
            let outlooks = parts.map { $0.outlook(on: platform) }
            return (outlooks.allSatisfy(\.mayHold), outlooks.contains(where: \.mayFail))
        case .or(let parts):
            let outlooks = parts.map { $0.outlook(on: platform) }
            return (outlooks.contains(where: \.mayHold), outlooks.allSatisfy(\.mayFail))
        case .not(let part):
            let outlook = part.outlook(on: platform)
            return (outlook.mayFail, outlook.mayHold)
        case .platform(let named): return (named == platform, named != platform)
        case .topic, .user, .device, .segment, .locale, .timeZone, .attribute, .appVersion, .seen, .registered:
            return (true, true)
        }
    }

    /// Whether `locale` equals `range` or begins with it at a subtag boundary, ignoring letter case; `_` is `-`.
    package static func locale(_ locale: String, isIn range: String) -> Bool {
        let (locale, range) = (folded(locale), folded(range))
        return locale.starts(with: range) && (locale.count == range.count || locale[range.count] == UInt8(ascii: "-"))
    }

    /// A locale or a range for comparisons: in lower case, with `-` between subtags.
    package static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 | 0x20 }
    }

    /// The greatest age of the last registration for `seen`. It is limited, because any number of days may be stored.
    package static func age(days: Int64) -> Duration { .seconds(min(max(0, days), Limits.conditionDaysMax) * 86_400) }
}

/// One test of a value, such as an attribute: `{"gte": 3}`.
package struct ConditionTest: Sendable, Hashable {
    /// The raw values are the members of the API.
    package enum Operator: String, CaseIterable, Sendable, Hashable {
        case `is`, `in`, gt, gte, lt, lte, exists
    }

    package let test: Operator
    /// A scalar; an array of them for `in`, a boolean for `exists`.
    package let value: JSON

    package init(_ test: Operator, _ value: JSON) {
        self.test = test
        self.value = value
    }

    /// As `PreparedTest.passes(attribute:)`, for one device.
    package func passes(_ given: JSON?) -> Bool { PreparedTest(ofAttribute: self).passes(attribute: given) }

    /// As `PreparedTest.passes(version:)`, for one device.
    package func passes(version text: String?) -> Bool { PreparedTest(ofVersion: self).passes(version: text) }
}

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

/// The exact value of a JSON number, for comparisons: `0.digits` times ten to the power of `exponent`. Numbers of any
/// length are compared without rounding, and equal ones have equal members.
struct DecimalNumber: Hashable, Comparable {
    private let isNegative: Bool
    private let exponent: Int
    /// Without zeros at both ends; empty for 0.
    private let digits: [UInt8]

    /// Larger exponents are equal to this one. It leaves room for adding the number of digits.
    private static let exponentMax = Int(Int32.max)

    /// - Parameter text: a number by RFC 8259 §6.
    init(_ text: String) {
        let parts = text.utf8.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = (parts.first ?? text.utf8[...]).drop { $0 == UInt8(ascii: "-") }
        let halves = mantissa.split(separator: UInt8(ascii: "."), maxSplits: 1)
        let significant = halves.joined().drop { $0 == UInt8(ascii: "0") }
        let zeros = halves.joined().count - significant.count
        digits = Array(significant.reversed().drop { $0 == UInt8(ascii: "0") }.reversed())
        isNegative = !digits.isEmpty && text.hasPrefix("-")
        let power = parts.count == 2 ? Self.power(String(Substring(parts[1]))) : 0
        exponent = digits.isEmpty ? .min : (halves.first?.count ?? 0) - zeros + power
    }

    private static func power(_ text: String) -> Int {
        let power = Int(text) ?? (text.hasPrefix("-") ? -exponentMax : exponentMax)
        return max(-exponentMax, min(exponentMax, power))
    }

    static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isCloserToZero(than: left) : left.isCloserToZero(than: right)
    }

    private func isCloserToZero(than other: DecimalNumber) -> Bool {
        exponent != other.exponent ? exponent < other.exponent : digits.lexicographicallyPrecedes(other.digits)
    }
}
