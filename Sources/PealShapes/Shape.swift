package import PealCore

/// What one value of a request may be, said once: a shape reads the value and describes it, so that the reader and the
/// OpenAPI schema cannot disagree.
///
/// A request is an `ObjectShape`: a start value and one `Entry` for each member, which names the member, says what it
/// may be, and stores what was read. `Rule`s say what holds between members.
///
/// ```swift
/// static let options = ObjectShape("NativeOptions", PlatformOptions(), rules: [.notBoth("expires_at", "ttl_seconds")]) {
///     Entry("priority", .words("NativePriority")) { $0.priority = $1 }
///     Entry("expires_at", .time) { if let end = $1 { $0.life = .until(end) } }
///     Entry("ttl_seconds", .integer(0...Limits.ttlSecondsMax)) { if let seconds = $1 { $0.life = .seconds(seconds) } }
///     Entry("collapse_key", .text()) { $0.collapseKey = $1 }
/// }
/// ```
///
/// - The setter of a member that may be missing takes an optional: it is not called for a missing member, and gets nil
///   for a null. Two members that share a property must not clear it, as above.
/// - `Entry(required:)` refuses a missing member with `missing_field`; its setter takes a value.
/// - `options.value(of: json, policy, now: now)` reads a request, `options.apply(json, to: &stored, policy, now: now)` a
///   change of what is stored: a member that is not mentioned stays, null clears, required members may be missing.
/// - `options.shape` is the shape for a member of another object, `options.schema(describing)` the schema.
/// - A `Policy` says how strictly a dialect reads. The same shape serves both kinds, and the schema follows the policy.
///
/// Make shapes once and keep them: `static let`, or a property of a value made at start where limits come from the
/// configuration. A computed property builds the whole tree for each request.
package struct Shape<Value: Sendable>: Sendable {
    package typealias Read = @Sendable (JSON, inout Reading) throws(PealError) -> Value
    package typealias Describe = @Sendable (Describing) -> Schema

    /// Reads a value that is there: the object around it has already dealt with absence.
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

    /// Reads what stands elsewhere than in a body: a part of a path or a query.
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

    /// A rule that the schema leaves out or states by `stating`.
    package func checked<Other>(
        _ check: @escaping @Sendable (Value, borrowing Reading) throws(PealError) -> Other
    ) -> Shape<Other> {
        Shape<Other>(
            read: { json, reading throws(PealError) in try check(try read(json, &reading), reading) },
            describe: describe)
    }

    /// Changes only the schema: to state what `checked` checks.
    package func stating(_ keywords: (String, JSON)...) -> Shape {
        Shape(read: read) { describing in
            keywords.reduce(describe(describing)) { $0.with($1.0, $1.1) }
        }
    }

    /// Puts another schema in place of the shape's own.
    package func described(by describe: @escaping Describe) -> Shape { Shape(read: read, describe: describe) }

    package func described(_ text: String) -> Shape { stating(("description", .string(text))) }

    /// Gives the schema a name in the document. Whatever stands in a union needs one: generators of clients name types
    /// by it.
    package func named(_ name: String) -> Shape {
        Shape(read: read) { .component(name, describe($0)) }
    }
}

/// How a dialect treats what is not quite as asked.
package struct Policy: Sendable {
    /// Whether numbers and flags may be texts, scalars may stand for texts, and "" is absent.
    package var isTolerant = false
    /// Whether line ends behind a text are dropped.
    package var trimsLineEnds = false
    /// Whether a null is as good as nothing in a change, too: only "" clears then.
    package var leavesNull = false
    /// Whether members that no shape declares are refused; else they are passed over.
    package var refusesUnknown = false

    package init(
        isTolerant: Bool = false, trimsLineEnds: Bool = false, leavesNull: Bool = false, refusesUnknown: Bool = false
    ) {
        (self.isTolerant, self.trimsLineEnds) = (isTolerant, trimsLineEnds)
        (self.leavesNull, self.refusesUnknown) = (leavesNull, refusesUnknown)
    }

    package static let strict = Policy()
    package static let tolerant = Policy(isTolerant: true)

    func isAbsent(_ json: JSON) -> Bool {
        switch json {
        case .null: true
        case .string(let text): isTolerant && text.utf8.isEmpty
        case .bool, .number, .array, .object: false
        }
    }

    /// By bytes: to Swift, a carriage return and its line feed are one character.
    func trimmed(_ json: JSON) -> JSON {
        guard trimsLineEnds, case .string(let text) = json, text.utf8.last == 0x0A || text.utf8.last == 0x0D else {
            return json
        }
        let end = text.utf8.reversed().prefix { $0 == 0x0A || $0 == 0x0D }.count
        return .string(String(decoding: text.utf8.dropLast(end), as: UTF8.self))
    }
}

/// One body being read: how, when, and where in it. The path becomes text only when something is refused.
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

    /// A refusal leaves the path where it arose; whoever catches one goes back.
    var depth: Int { steps.count }
    mutating func leave(to depth: Int) { steps.removeLast(steps.count - depth) }

    /// Such as `audience.addresses[3].platform`; `body` at the top.
    package var path: String { steps.isEmpty ? "body" : written }

    package func path(_ member: String) -> String { steps.isEmpty ? member : "\(written).\(member)" }

    private var written: String {
        steps.reduce(into: "") { path, step in
            switch step {
            case .member(let name): path += path.isEmpty ? name : ".\(name)"
            case .element(let index): path += "[\(index)]"
            }
        }
    }

    /// `invalid_field` for the value at hand; its path comes before `text`.
    package func refusal(_ text: String) -> PealError { .invalid(path, "\(path) \(text)") }

    /// Puts a refusal of the core, which knows no more than `address.keys`, where this reading stands.
    package func placed(_ error: PealError) -> PealError { steps.isEmpty ? error : error.under(written) }

    package func wrongType(_ json: JSON, _ expected: String) -> PealError {
        let subject = steps.isEmpty && policy.isTolerant ? "the body" : path
        return .invalid(path, "\(subject) must be \(expected), not \(json.typeName)")
    }
}

/// For whom a schema is written.
package struct Describing: Sendable {
    package let policy: Policy
    /// What must lie in the future lies after this.
    package let now: Timestamp

    package init(policy: Policy, now: Timestamp) {
        self.policy = policy
        self.now = now
    }

    /// The schema of a member that may be missing: null counts as absent, and so does "" under a tolerant policy.
    /// Generators of clients make copies of nullable objects and enumerations, so those become a union of two names.
    package func optional(_ schema: Schema) -> Schema {
        guard schema != .anything else { return schema }
        guard policy.isTolerant else { return schema.orNull }
        guard let type = schema["type"], type != "object", schema["enum"] == nil, schema["format"] == nil else {
            return schema.or(.component("Absent", Schema([("type", ["string", "null"]), ("maxLength", 0)])))
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

/// A value and where it stood, for rules that are checked when the whole is known.
package struct Located<Value: Sendable>: Sendable {
    package let value: Value
    package let path: String
}

extension Shape {
    package func located() -> Shape<Located<Value>> {
        checked { value, reading throws(PealError) in Located(value: value, path: reading.path) }
    }

    /// The value beside the JSON that it was read from, which a dialect may have to show again.
    package func withSource() -> Shape<(value: Value, source: JSON)> {
        Shape<(value: Value, source: JSON)>(
            read: { json, reading throws(PealError) in (try read(json, &reading), json) }, describe: describe)
    }

    /// Reads without refusing: the refusal counts only where the rest of the request makes the member matter, and a
    /// rule throws it then. The schema says nothing.
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
