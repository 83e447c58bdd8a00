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
    /// Tests of versions instead of texts.
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

    /// How many conditions it consists of, itself included.
    package var size: Int { parts.reduce(1) { $0 + $1.condition.size } }

    /// How many conditions contain each other at most, itself included.
    package var depth: Int { 1 + (parts.map(\.condition.depth).max() ?? 0) }

    /// Whether it holds, if `leaf` decides the conditions without parts.
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

    /// Whether it holds for an address that no device has: it has a platform and no other property.
    package func matches(addressOn platform: Platform) -> Bool {
        holds { leaf in if case .platform(platform) = leaf { true } else { false } }
    }

    /// Whether `locale` equals `range` or begins with it at a subtag boundary, ignoring letter case; `_` is `-`.
    package static func locale(_ locale: String, isIn range: String) -> Bool {
        let fold = { (text: String) in text.utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 | 0x20 } }
        let (locale, range) = (fold(locale), fold(range))
        return locale.starts(with: range) && (locale.count == range.count || locale[range.count] == fold("-")[0])
    }

    /// How old the last registration of a seen device may be. A stored number of days may be any.
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

    /// Whether an attribute passes: texts are compared by bytes, numbers by value, and values of different types are
    /// neither equal nor ordered. null counts as missing; a missing attribute passes nothing but `{"exists": false}`.
    package func passes(_ given: JSON?) -> Bool {
        let given = given.flatMap { $0.isNull ? Optional.none : $0 }
        guard test != .exists else { return (given != nil) == value.boolValue }
        guard let given else { return false }
        return passes { Self.order(given, $0) }
    }

    /// Whether a version passes; one that cannot be read counts as missing.
    package func passes(version text: String?) -> Bool {
        let given = text.flatMap(VersionNumber.init)
        guard test != .exists else { return (given != nil) == value.boolValue }
        guard let given else { return false }
        return passes { other in
            other.stringValue.flatMap(VersionNumber.init).map { given < $0 ? .less : given == $0 ? .equal : .greater }
        }
    }

    private enum Order {
        case less, equal, greater
    }

    /// - Parameter order: of the given value to another; nil if they cannot be compared.
    private func passes(_ order: (JSON) -> Order?) -> Bool {
        switch test {
        case .is: order(value) == .equal
        case .in: value.arrayValue?.contains { order($0) == .equal } ?? false
        case .gt: order(value) == .greater
        case .gte: [.greater, .equal].contains(order(value))
        case .lt: order(value) == .less
        case .lte: [.less, .equal].contains(order(value))
        case .exists: false
        }
    }

    /// Booleans are equal or cannot be compared.
    private static func order(_ left: JSON, _ right: JSON) -> Order? {
        switch (left, right) {
        case (.bool(let left), .bool(let right)): return left == right ? .equal : nil
        case (.string(let left), .string(let right)):
            if left.utf8.elementsEqual(right.utf8) { return .equal }
            return left.utf8.lexicographicallyPrecedes(right.utf8) ? .less : .greater
        case (.number(let left), .number(let right)):
            let (left, right) = (DecimalNumber(left), DecimalNumber(right))
            return left < right ? .less : left == right ? .equal : .greater
        default: return nil
        }
    }
}
