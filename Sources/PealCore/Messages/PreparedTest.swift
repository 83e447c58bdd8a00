/// A test that is prepared for many devices: the values that it names are read once, and those of `in` are looked up
/// instead of compared one by one. A condition may name tens of thousands of values, and an app may have millions of
/// devices.
package struct PreparedTest: Sendable, Hashable {
    private let test: ConditionTest.Operator
    /// The value of `exists`.
    private let isPresent: Bool?
    /// Those of `in`; the only one of another test. Values that nothing equals are left out.
    private let values: Set<ComparedValue>

    package init(ofAttribute test: ConditionTest) { self.init(test) { ComparedValue(attribute: $0) } }

    package init(ofVersion test: ConditionTest) { self.init(test) { ComparedValue(version: $0.stringValue) } }

    private init(_ test: ConditionTest, _ value: (JSON) -> ComparedValue?) {
        self.test = test.test
        isPresent = test.test == .exists ? test.value.boolValue : nil
        let named = test.test == .in ? test.value.arrayValue ?? [] : [test.value]
        values = Set(named.compactMap(value))
    }

    /// Whether an attribute passes: texts are compared by bytes, numbers by value, and values of different types are
    /// neither equal nor ordered. null counts as missing; a missing attribute passes only `{"exists": false}`.
    package func passes(attribute: JSON?) -> Bool {
        let given = attribute.flatMap { $0.isNull ? Optional.none : $0 }
        return passes(given.flatMap { ComparedValue(attribute: $0) }, isPresent: given != nil)
    }

    /// Whether a version passes; one that cannot be read counts as missing.
    package func passes(version: String?) -> Bool {
        let given = ComparedValue(version: version)
        return passes(given, isPresent: given != nil)
    }

    private func passes(_ given: ComparedValue?, isPresent: Bool) -> Bool {
        guard test != .exists else { return isPresent == self.isPresent }
        guard let given else { return false }
        switch test {
        case .is, .in: return values.contains(given)
        case .gt: return order(of: given) == .greater
        case .gte: return [.greater, .equal].contains(order(of: given))
        case .lt: return order(of: given) == .less
        case .lte: return [.less, .equal].contains(order(of: given))
        case .exists: return false
        }
    }

    private func order(of given: ComparedValue) -> ComparedValue.Order? { values.first.flatMap { given.order(to: $0) } }
}

/// A value as tests compare it.
enum ComparedValue: Sendable, Hashable {
    case bool(Bool)
    case text(ExactText)
    case number(DecimalNumber)
    case version(VersionNumber)

    enum Order {
        case less, equal, greater
    }

    /// nil for null, an array or an object.
    init?(attribute json: JSON) {
        switch json {
        case .bool(let value): self = .bool(value)
        case .string(let text): self = .text(ExactText(text))
        case .number(let text): self = .number(DecimalNumber(text))
        case .null, .array, .object: return nil
        }
    }

    /// nil for a text that is not a version.
    init?(version text: String?) {
        guard let version = text.flatMap({ VersionNumber($0) }) else { return nil }
        self = .version(version)
    }

    /// nil if the values cannot be compared: booleans have no order.
    func order(to other: ComparedValue) -> Order? {
        switch (self, other) {
        case (.text(let left), .text(let right)): Self.order(left, right)
        case (.number(let left), .number(let right)): Self.order(left, right)
        case (.version(let left), .version(let right)): Self.order(left, right)
        default: self == other ? .equal : nil
        }
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> Order {
        left < right ? .less : left == right ? .equal : .greater
    }
}
