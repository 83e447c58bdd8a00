package import PealCore

/// Defines the valid values of a part of a request, once: a shape reads the JSON value and describes it, so that the
/// reader and the OpenAPI schema cannot disagree.
///
/// A request is an `ObjectShape`: a start value and one `Entry` for each member, which names the member, defines its
/// valid values, and stores what was read. `Rule`s are conditions on several members.
///
/// ```swift
/// static let options = ObjectShape("NativeOptions", PlatformOptions(), rules: [.notBoth("expires_at", "ttl_seconds")])
/// {
///     Entry("priority", .words("NativePriority")) { $0.priority = $1 }
///     Entry("expires_at", .time) { if let end = $1 { $0.life = .until(end) } }
///     Entry("ttl_seconds", .integer(0...Limits.ttlSecondsMax)) { if let seconds = $1 { $0.life = .seconds(seconds) } }
///     Entry("collapse_key", .text()) { $0.collapseKey = $1 }
/// }
/// ```
///
/// - The setter of an optional member takes an optional: it is not called for a missing member, and receives nil for
///   null. If two members share a property, neither may clear it, as above.
/// - `Entry(required:)` refuses a missing member with `missing_field`; its setter takes a value.
/// - `options.value(of: json, policy, now: now)` reads a request. `options.apply(json, to: &stored, policy, now: now)`
///   reads a change of a stored value: absent members keep their values, null clears, and required members may be
///   missing.
/// - `options.shape` is the shape for a member of another object, `options.schema(describing)` the schema.
/// - A `Policy` sets how strictly a dialect reads. Strict and tolerant dialects can use the same shape, and the schema
///   follows the policy.
///
/// Create shapes once and keep them: as a `static let`, or as a property of a value that is created at start if limits
/// come from the configuration. A computed property builds the whole tree for each request.
package struct Shape<Value: Sendable>: Sendable {
    package typealias Read = @Sendable (JSON, inout Reading) throws(PealError) -> Value
    package typealias Describe = @Sendable (Describing) -> Schema

    /// Reads a value that is present: the enclosing object has already handled absence.
    package let read: Read
    /// JSON Schema (draft 2020-12) of the same values.
    package let describe: Describe

    package init(read: @escaping Read, describe: @escaping Describe) {
        (self.read, self.describe) = (read, describe)
    }

    /// Reads a whole body.
    package func value(of body: JSON, _ policy: Policy, now: Timestamp) throws(PealError) -> Value {
        var reading = Reading(policy: policy, now: now)
        return try read(body, &reading)
    }

    /// Reads text from outside a body, such as a part of a path or a query.
    package func value(
        of text: String, named name: String, _ policy: Policy = .strict
    ) throws(PealError) -> Value {
        var reading = Reading(policy: policy, now: Timestamp(milliseconds: 0))
        reading.enter(name)
        return try read(.string(text), &reading)
    }

    package func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> Shape<Other> {
        Shape<Other>(
            read: { json, reading throws(PealError) in transform(try read(json, &reading)) }, describe: describe)
    }

    /// Adds a check to the reader. The schema does not contain it unless `stating` adds it.
    package func checked<Other>(
        _ check: @escaping @Sendable (Value, borrowing Reading) throws(PealError) -> Other
    ) -> Shape<Other> {
        Shape<Other>(
            read: { json, reading throws(PealError) in try check(try read(json, &reading), reading) },
            describe: describe)
    }

    /// Changes only the schema, to state what `checked` checks.
    package func stating(_ keywords: (String, JSON)...) -> Shape {
        Shape(read: read) { describing in
            keywords.reduce(describe(describing)) { $0.with($1.0, $1.1) }
        }
    }

    /// Replaces the shape's schema.
    package func described(by describe: @escaping Describe) -> Shape { Shape(read: read, describe: describe) }

    package func described(_ text: String) -> Shape { stating(("description", .string(text))) }

    /// Also accepts "", as `value`.
    package func orEmpty(_ value: Value) -> Shape {
        Shape(
            read: { json, reading throws(PealError) in json == .string("") ? value : try read(json, &reading) },
            describe: { describing in
                let schema = describe(describing).without("minLength")
                guard let pattern = schema["pattern"]?.stringValue else { return schema }
                return schema.with("pattern", .string("^(?:\(pattern.dropFirst().dropLast()))?$"))
            })
    }
}

/// How a dialect treats values that differ from the documented form.
package struct Policy: Sendable {
    /// Whether numbers and booleans may be strings, scalars may replace strings, and "" counts as absent.
    package var isTolerant = false
    /// Whether line ends after a string are dropped.
    package var trimsLineEnds = false
    /// Whether null counts as absent in a change too, so that only "" clears.
    package var leavesNull = false
    /// Whether members that no shape declares are refused; otherwise they are ignored.
    package var refusesUnknown = false

    package init(
        isTolerant: Bool = false, trimsLineEnds: Bool = false, leavesNull: Bool = false, refusesUnknown: Bool = false
    ) {
        (self.isTolerant, self.trimsLineEnds) = (isTolerant, trimsLineEnds)
        (self.leavesNull, self.refusesUnknown) = (leavesNull, refusesUnknown)
    }

    package static let strict = Policy()
    package static let tolerant = Policy(isTolerant: true)

    /// Whether the value counts as absent: null, and "" for tolerant readers.
    package func isAbsent(_ json: JSON) -> Bool {
        switch json {
        case .null: true
        case .string(let text): isTolerant && text.utf8.isEmpty
        case .bool, .number, .array, .object: false
        }
    }

    /// Compares bytes, because Swift treats a carriage return and line feed as one character.
    func trimmed(_ json: JSON) -> JSON {
        guard trimsLineEnds, case .string(let text) = json, text.utf8.last == 0x0A || text.utf8.last == 0x0D else {
            return json
        }
        let end = text.utf8.reversed().prefix { $0 == 0x0A || $0 == 0x0D }.count
        return .string(String(decoding: text.utf8.dropLast(end), as: UTF8.self))
    }
}

/// The state of reading one body: the policy, the time and the current path. The path becomes text only for an error.
package struct Reading: ~Copyable {
    package let policy: Policy
    package let now: Timestamp
    private var steps: [Step] = []

    private enum Step {
        case member(String)
        case element(Int)
    }

    package init(policy: Policy, now: Timestamp) {
        self.policy = policy
        self.now = now
        steps.reserveCapacity(8)
    }

    package mutating func enter(_ member: String) { steps.append(.member(member)) }
    package mutating func enter(_ element: Int) { steps.append(.element(element)) }
    package mutating func leave() { steps.removeLast() }

    /// After an error, the path stays at the value that caused it. Code that catches an error goes back to its own
    /// depth.
    var depth: Int { steps.count }
    mutating func leave(to depth: Int) { steps.removeLast(steps.count - depth) }

    /// The current path, such as `audience.addresses[3].platform`; `body` at the top.
    package var path: String { steps.isEmpty ? "body" : written }

    package func path(_ member: String) -> String {
        let name = PealError.shown(member)
        return steps.isEmpty ? name : "\(written).\(name)"
    }

    private var written: String {
        steps.reduce(into: "") { path, step in
            switch step {
            case .member(let name): path += (path.isEmpty ? "" : ".") + PealError.shown(name)
            case .element(let index): path += "[\(index)]"
            }
        }
    }

    /// `invalid_field` for the current value. The message is its path and `text`.
    package func refusal(_ text: String) -> PealError { .invalid(path, "\(path) \(text)") }

    /// The members of an object. Tolerant readers take an empty list for an empty object: PHP writes both as `[]`.
    package func members(of json: JSON) throws(PealError) -> JSON.Members {
        switch json {
        case .object(let members): return members
        case .array([]) where policy.isTolerant: return .init()
        case .null, .bool, .number, .string, .array: throw wrongType(json, "an object")
        }
    }

    package func wrongType(_ json: JSON, _ expected: String) -> PealError {
        let subject = steps.isEmpty && policy.isTolerant ? "the body" : path
        return .invalid(path, "\(subject) must be \(expected), not \(json.typeName)")
    }
}

/// The policy, the time and the configuration for which a schema is written.
package struct Describing: Sendable {
    package let policy: Policy
    /// Times that must be in the future are later than this.
    package let now: Timestamp
    /// How many topics a device may have.
    package let topicsPerDeviceMax: Int

    package init(policy: Policy, now: Timestamp, topicsPerDeviceMax: Int = Limits.topicsPerDeviceMax) {
        self.policy = policy
        self.now = now
        self.topicsPerDeviceMax = topicsPerDeviceMax
    }

    /// The schema of an element, or of a required member: tolerant readers take an empty list for an empty object.
    package func required(_ schema: Schema) -> Schema {
        policy.isTolerant && schema.allowsEmptyObject ? schema.or(.emptyList) : schema
    }

    /// The schema of an optional member: null counts as absent, and so does "" under a tolerant policy. Client
    /// generators duplicate nullable objects and enumerations, so those become a union of two named schemas.
    package func optional(_ schema: Schema) -> Schema {
        guard schema.without("description") != .anything else { return schema }
        guard policy.isTolerant else { return schema.orNull }
        guard let type = schema["type"], type != "object", schema["enum"] == nil, schema["format"] == nil else {
            return required(schema).or(.component("Absent", Schema([("type", ["string", "null"]), ("maxLength", 0)])))
        }
        var types = type.arrayValue ?? [type]
        var schema = schema.without("minLength")
        if !types.contains("string") {
            types.append("string")
            schema = schema.with("maxLength", 0)
        } else if let pattern = schema["pattern"]?.stringValue {
            schema = schema.with("pattern", .string("^(?:\(pattern.dropFirst().dropLast()))?$"))
        }
        return schema.with("type", .array(types.contains("null") ? types : types + ["null"]))
    }
}

/// A value with its path in the request, for rules that are checked after the whole request is read.
package struct Located<Value: Sendable>: Sendable {
    package let value: Value
    package let path: String
}

extension Shape {
    package func located() -> Shape<Located<Value>> {
        checked { value, reading throws(PealError) in Located(value: value, path: reading.path) }
    }

    /// The value together with the JSON that it was read from, which a dialect may have to show again.
    package func withSource() -> Shape<(value: Value, source: JSON)> {
        Shape<(value: Value, source: JSON)>(
            read: { json, reading throws(PealError) in (try read(json, &reading), json) }, describe: describe)
    }

    /// Reads without throwing: the value or its error. A rule throws the error only if the rest of the request makes
    /// the member relevant. The schema allows anything.
    package func deferred() -> Shape<Result<Value, PealError>> {
        Shape<Result<Value, PealError>>(
            read: { json, reading throws(PealError) in
                let depth = reading.depth
                do throws(PealError) {
                    return .success(try read(json, &reading))
                } catch {
                    reading.leave(to: depth)
                    return .failure(error)
                }
            }, describe: { _ in .anything })
    }
}
