internal import PealCore
internal import PealShapes

/// The shape of `audience.where` and of what a segment names.
enum NativeConditionShapes {
    /// A condition within its limits.
    static let condition: Shape<Condition> = one.checked { condition, reading throws(PealError) in
        guard condition.size <= Limits.conditionsMax else {
            throw reading.refusal("may contain at most \(Limits.conditionsMax) conditions")
        }
        guard condition.depth <= Limits.conditionDepthMax else {
            throw reading.refusal("may nest conditions at most \(Limits.conditionDepthMax) levels deep")
        }
        guard condition.json.bytes.count <= Limits.conditionBytesMax else {
            throw reading.refusal("must be at most \(Limits.conditionBytesMax) bytes long")
        }
        return condition
    }

    /// The conditions that an object states, which must be one.
    private typealias Draft = [Condition]

    private static let one: Shape<Condition> = ObjectShape(
        "NativeCondition", Draft(),
        "At most \(Limits.conditionsMax) conditions, nested at most \(Limits.conditionDepthMax) levels deep.",
        rules: [single]
    ) {
        Entry("and", parts) { $0.add($1.map(Condition.and)) }
        Entry("or", parts) { $0.add($1.map(Condition.or)) }
        Entry("not", part) { $0.add($1.map(Condition.not)) }
        Entry("topic", .text()) { $0.add($1.map(Condition.topic)) }
        Entry("user", .text()) { $0.add($1.map(Condition.user)) }
        Entry("device", .id()) { $0.add($1.map(Condition.device)) }
        Entry("segment", .text()) { $0.add($1.map(Condition.segment)) }
        Entry("platform", NativeShapes.platform) { $0.add($1.map(Condition.platform)) }
        Entry("locale", NativeDeviceShapes.locale) { $0.add($1.map { .locale($0) }) }
        Entry("time_zone", NativeDeviceShapes.timeZone) { $0.add($1.map(Condition.timeZone)) }
        Entry("attribute", attribute) { $0.add($1.map { .attribute($0.name, $0.tests) }) }
        Entry("app_version", version) { $0.add($1.map { .appVersion($0.tests) }) }
        Entry("seen", seen) { $0.add($1.map { .seen(withinDays: $0) }) }
        Entry("registered", registered) { $0.add($1.map { .registered(after: $0) }) }
    }.shape.map { $0.first ?? .or([]) }

    private static let members = [
        "and", "or", "not", "topic", "user", "device", "segment", "platform", "locale", "time_zone", "attribute",
        "app_version", "seen", "registered",
    ]

    private static let single = Rule<Draft>(
        "Exactly one member.",
        violation: { describing in
            ["not": ["oneOf": .array(members.map { .present([$0], describing) })]]
        }
    ) { given, _, reading throws(PealError) in
        guard given.count != 1 else { return }
        let list = members.joined(separator: ", ")
        guard given.isEmpty else {
            throw .invalid(reading.path, "\(reading.path) must have exactly one member; join conditions with and or or")
        }
        throw PealError(.missingField, "\(reading.path) must have one of the members \(list)", field: reading.path)
    }

    /// A condition inside another. The schema refers to itself.
    private static let part = Shape<Condition>(
        read: { json, reading throws(PealError) in try one.read(json, &reading) },
        describe: { _ in .named("NativeCondition") })

    private static let parts: Shape<[Condition]> = .list(part, min: 1, max: Limits.conditionsMax)
}

extension NativeConditionShapes {
    fileprivate struct Tests: Sendable {
        var name = ""
        var tests: [ConditionTest] = []
    }

    private static let attribute: Shape<Tests> = ObjectShape(
        "NativeAttributeCondition", Tests(), "Several tests are joined by and.",
        rules: [someTest]
    ) {
        Entry(required: "name", .text()) { $0.name = $1 }
        for test in ConditionTest.Operator.allCases {
            Entry(test.rawValue, value(of: test, scalar, ordered: ordered)) { $0.add(test, $1) }
        }
    }.shape

    private static let version: Shape<Tests> = ObjectShape(
        "NativeVersionCondition", Tests(), "Several tests are joined by and.", rules: [someTest]
    ) {
        for test in ConditionTest.Operator.allCases {
            Entry(test.rawValue, value(of: test, versionText, ordered: versionText)) { $0.add(test, $1) }
        }
    }.shape

    private static let someTest = Rule<Tests>.some(
        of: ConditionTest.Operator.allCases.map(\.rawValue),
        "a test is missing: give one of \(ConditionTest.Operator.allCases.map(\.rawValue).joined(separator: ", "))")

    private static func value(
        of test: ConditionTest.Operator, _ scalar: Shape<JSON>, ordered: Shape<JSON>
    ) -> Shape<JSON> {
        switch test {
        case .is: scalar
        case .in: Shape<[JSON]>.list(scalar, min: 1, max: Limits.conditionValuesMax).map { .array($0) }
        case .gt, .gte, .lt, .lte: ordered
        case .exists: Shape<Bool>.flag.map { .bool($0) }
        }
    }

    private static let scalar = Shape<JSON>(
        read: { json, reading throws(PealError) in
            switch json {
            case .string, .bool, .number: return json
            case .null, .array, .object: throw reading.wrongType(json, "a string, a number or a boolean")
            }
        }, describe: { _ in Schema.content.with("type", ["string", "number", "boolean"]) }
    ).contentOnly()

    private static let ordered = Shape<JSON>(
        read: { json, reading throws(PealError) in
            switch json {
            case .string, .number: return json
            case .null, .bool, .array, .object: throw reading.wrongType(json, "a string or a number")
            }
        }, describe: { _ in Schema.content.with("type", ["string", "number"]) }
    ).contentOnly()

    private static let versionText = Shape.text().matching("[vV]?[0-9].*", "must be a version such as 2.10.1") {
        VersionNumber($0) != nil
    }.map { JSON.string($0) }

    private static let seen = ObjectShape("NativeSeenCondition", Int64(1)) {
        Entry(required: "within_days", .integer(1...Limits.conditionDaysMax)) { $0 = $1 }
    }.shape

    private static let registered = ObjectShape(
        "NativeRegisteredCondition", Timestamp(milliseconds: 0)
    ) {
        Entry(required: "after", .time) { $0 = $1 }
    }.shape
}

extension NativeConditionShapes.Tests {
    fileprivate mutating func add(_ test: ConditionTest.Operator, _ value: JSON?) {
        if let value { tests.append(ConditionTest(test, value)) }
    }
}

extension [Condition] {
    fileprivate mutating func add(_ condition: Condition?) {
        if let condition { append(condition) }
    }
}
