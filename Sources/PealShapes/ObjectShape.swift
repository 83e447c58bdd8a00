package import PealCore

/// The shape of an object: it reads JSON members into a value one by one, and describes the object as a component.
package struct ObjectShape<Root: Sendable>: Sendable {
    let name: String
    let start: Root
    let entries: [Entry<Root>]
    let rules: [Rule<Root>]
    private let text: String?
    private let names: [String]
    /// The positions of the entries that have a name.
    private let positions: [ExactText: [Int]]
    /// For each entry whether it is read even if it has no member.
    private let isRequired: [Bool]
    /// The members in `names` that `extra` does not receive.
    private let taken: [String]
    private let extra: (@Sendable (inout Root, JSON.Members) -> Void)?
    private let others: (names: Schema, values: Schema)?

    /// - Parameters:
    ///   - name: the name of the component.
    ///   - start: the value before any member is read.
    ///   - text: a sentence for the document.
    ///   - others: schemas of the names and values of members without an entry, for the document.
    ///   - extra: receives the members without an entry, for objects that pass them on.
    package init(
        _ name: String, _ start: Root, _ text: String? = nil, rules: [Rule<Root>] = [],
        others: (names: Schema, values: Schema)? = nil,
        extra: (@Sendable (inout Root, JSON.Members) -> Void)? = nil,
        @EntryBuilder<Root> _ entries: () -> [Entry<Root>]
    ) {
        let entries = entries()
        (self.name, self.start, self.text, self.extra, self.entries) = (name, start, text, extra, entries)
        self.others = others
        self.rules = entries.flatMap(\.rules) + rules
        names = entries.flatMap(\.names)
        positions = Dictionary(
            entries.enumerated().flatMap { position, entry in entry.names.map { (ExactText($0), [position]) } },
            uniquingKeysWith: +)
        isRequired = entries.map(\.isRequired)
        taken = entries.filter { !$0.isKept }.flatMap(\.names)
    }

    package var shape: Shape<Root> {
        Shape { json, reading throws(PealError) in
            var root = start
            try read(json, into: &root, &reading, isChange: false)
            return root
        } describe: { describing in
            schema(describing)
        }
    }

    /// Reads a whole body.
    package func value(of body: JSON, _ policy: Policy, now: Timestamp) throws(PealError) -> Root {
        var reading = Reading(policy: policy, now: now)
        var root = start
        try read(body, into: &root, &reading, isChange: false)
        return root
    }

    /// Reads a change into a stored value: absent members keep their values, and null clears.
    package func apply(_ body: JSON, to root: inout Root, _ policy: Policy, now: Timestamp) throws(PealError) {
        var reading = Reading(policy: policy, now: now)
        try read(body, into: &root, &reading, isChange: true)
    }

    /// Reads a change that is a member of another object.
    package func apply(_ json: JSON, to root: inout Root, _ reading: inout Reading) throws(PealError) {
        try read(json, into: &root, &reading, isChange: true)
    }

    private func read(
        _ json: JSON, into root: inout Root, _ reading: inout Reading, isChange: Bool
    ) throws(PealError) {
        guard case .object(let members) = json else { throw reading.wrongType(json, "an object") }
        // First, because a required member that seems to be missing may be misspelled.
        if extra == nil, reading.policy.refusesUnknown { try refuseUnknown(members, reading) }
        let given = Given(members: members, policy: reading.policy, isChange: isChange)
        try store(given, &reading, &root)
        if let extra {
            var rest = members
            for name in taken { rest[name] = nil }
            extra(&root, rest)
        }
        for rule in rules where !isChange || rule.isForChanges { try rule.check(root, given, reading) }
    }

    private func refuseUnknown(_ members: JSON.Members, _ reading: borrowing Reading) throws(PealError) {
        let unknown = members.names.filter { positions[ExactText($0)] == nil }
        guard let first = unknown.first else { return }
        throw .unknown(
            reading.path(first), near: Spelling.nearest(to: first, names),
            others: unknown.dropFirst().map { reading.path($0) })
    }

    /// Reads the entries in their order. Most objects have few of the members that they may have, so only those entries
    /// are read that have a member, or must have one.
    func store(_ given: Given, _ reading: inout Reading, _ root: inout Root) throws(PealError) {
        var isRead = isRequired
        for name in given.members.names {
            for position in positions[ExactText(name)] ?? [] { isRead[position] = true }
        }
        for position in isRead.indices where isRead[position] { try entries[position].read(given, &reading, &root) }
    }

    package func schema(_ describing: Describing) -> Schema { .component(name, body(describing, isChange: false)) }

    /// The schema of a change, in which no member is required.
    package func change(_ name: String, _ describing: Describing) -> Schema {
        .component(name, body(describing, isChange: true))
    }

    private func body(_ describing: Describing, isChange: Bool) -> Schema {
        let properties = entries.flatMap { $0.describe(describing) }.map { property in
            guard isChange, property.isRequired else { return property }
            let schema = describing.policy.isTolerant ? describing.optional(property.schema) : property.schema
            return Property.optional(property.name, schema)
        }
        var schema = Schema.object(properties)
        let rules = rules.filter { !isChange || $0.isForChanges }
        let sentences = [text].compactMap(\.self) + rules.compactMap(\.text)
        if !sentences.isEmpty { schema = schema.described(sentences.joined(separator: " ")) }
        if describing.policy.refusesUnknown, extra == nil { schema = schema.with("additionalProperties", false) }
        if let others {
            schema = schema.with("propertyNames", others.names.json).with("additionalProperties", others.values.json)
                .carrying([others.values])
        }
        let violations = rules.compactMap { $0.violation(describing) }
        if let first = violations.first {
            schema = schema.with("not", violations.count == 1 ? first : ["anyOf": .array(violations)])
        }
        return schema
    }
}

@resultBuilder
package enum EntryBuilder<Root: Sendable> {
    package static func buildExpression(_ entry: Entry<Root>) -> [Entry<Root>] { [entry] }
    package static func buildExpression(_ entries: [Entry<Root>]) -> [Entry<Root>] { entries }
    package static func buildBlock(_ parts: [Entry<Root>]...) -> [Entry<Root>] { parts.flatMap { $0 } }
    package static func buildArray(_ parts: [[Entry<Root>]]) -> [Entry<Root>] { parts.flatMap { $0 } }
    package static func buildOptional(_ part: [Entry<Root>]?) -> [Entry<Root>] { part ?? [] }
}

/// The members of one object in a request.
package struct Given: Sendable {
    package let members: JSON.Members
    let policy: Policy
    let isChange: Bool

    /// Checks further names of a member that was read under `name`: they are ignored, but must be valid.
    func check<Value>(
        _ aliases: [String], after name: String, _ shape: Shape<Value>, _ reading: inout Reading
    ) throws(PealError) {
        for alias in aliases where alias != name {
            guard let json = members[alias], !policy.isAbsent(json) else { continue }
            reading.enter(alias)
            _ = try shape.read(policy.trimmed(json), &reading)
            reading.leave()
        }
    }

    func find(_ names: [String], isVerbatim: Bool) -> (String, JSON)? {
        for name in names {
            guard let json = members[name] else { continue }
            let value = isVerbatim ? json : policy.trimmed(json)
            if !policy.isAbsent(value) { return (name, value) }
        }
        return nil
    }

    /// Whether a member with one of the names is present, even if null. If the policy ignores null, it must not be
    /// null.
    func mentions(_ names: [String]) -> Bool {
        names.contains { name in members[name].map { !(policy.leavesNull && $0.isNull) } ?? false }
    }

    /// Whether the member is present with a value that does not count as absent.
    package func has(_ name: String) -> Bool { members[name].map { !policy.isAbsent($0) } ?? false }
}

/// One member of a `Root`: its names, its shape, and the setter for its value. Erases the value's type, so that the
/// compiler checks an object of any size one line at a time.
package struct Entry<Root: Sendable>: Sendable {
    let names: [String]
    /// Whether an object that passes members on keeps this one as it was written.
    var isKept = false
    /// Whether `read` must also be called if none of the names is among the members.
    var isRequired = false
    /// The rules of an included object, whose members are this object's own members.
    var rules: [Rule<Root>] = []
    let describe: @Sendable (Describing) -> [Property]
    /// Reads and stores the member; does nothing if it is missing.
    let read: @Sendable (Given, inout Reading, inout Root) throws(PealError) -> Void

    /// An optional member.
    /// - Parameters:
    ///   - aliases: further names, tried in this order.
    ///   - isVerbatim: whether to keep line ends after a string although the policy drops them.
    ///   - set: not called for a missing member; receives nil for null.
    package init<Value>(
        _ name: String, or aliases: String..., is shape: Shape<Value>, isVerbatim: Bool = false,
        set: @escaping @Sendable (inout Root, Value?) -> Void
    ) {
        let names = [name] + aliases
        self.names = names
        describe = { describing in
            let schema = describing.optional(shape.describe(describing))
            let own = isVerbatim ? schema : schema.withLineEnds(describing.policy)
            return [.optional(name, own)] + Self.properties(aliases, like: name, own)
        }
        read = { given, reading, root throws(PealError) in
            if let (name, json) = given.find(names, isVerbatim: isVerbatim) {
                reading.enter(name)
                let value = try shape.read(json, &reading)
                reading.leave()
                try given.check(aliases, after: name, shape, &reading)
                set(&root, value)
            } else if given.mentions(names) {
                set(&root, nil)
            }
        }
    }

    package init<Value>(
        _ name: String, _ shape: Shape<Value>, set: @escaping @Sendable (inout Root, Value?) -> Void
    ) {
        self.init(name, is: shape, set: set)
    }

    /// A required member, which has no aliases: a schema could not require one of several names in a form that client
    /// generators understand.
    package init<Value>(
        required name: String, is shape: Shape<Value>, isVerbatim: Bool = false,
        set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        let names = [name]
        self.names = names
        isRequired = true
        describe = { describing in
            let schema = shape.describe(describing)
            return [.required(name, isVerbatim ? schema : schema.withLineEnds(describing.policy))]
        }
        read = { given, reading, root throws(PealError) in
            guard let (name, json) = given.find(names, isVerbatim: isVerbatim) else {
                // A required member cannot be cleared; tolerant readers ignore the attempt.
                if given.isChange, given.policy.isTolerant || !given.mentions(names) { return }
                throw .missing(reading.path(name))
            }
            reading.enter(name)
            let value = try shape.read(json, &reading)
            reading.leave()
            set(&root, value)
        }
    }

    /// A required member that may be "" even for tolerant readers.
    package init<Value>(
        present name: String, _ shape: Shape<Value>, set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        names = [name]
        isRequired = true
        describe = { describing in
            [.required(name, shape.describe(describing).withLineEnds(describing.policy))]
        }
        read = { given, reading, root throws(PealError) in
            guard let json = given.members[name], !json.isNull else { throw .missing(reading.path(name)) }
            reading.enter(name)
            let value = try shape.read(given.policy.trimmed(json), &reading)
            reading.leave()
            set(&root, value)
        }
    }

    package init<Value>(
        required name: String, _ shape: Shape<Value>, set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        self.init(required: name, is: shape, set: set)
    }

    /// A member that is checked and described, and passed on as it was written.
    package init<Value>(checking name: String, _ shape: Shape<Value>) {
        self.init(checking: name, shape) { _, _ in }
    }

    /// - Parameter set: also receives the value that was read.
    package init<Value>(
        checking name: String, _ shape: Shape<Value>, set: @escaping @Sendable (inout Root, Value?) -> Void
    ) {
        self.init(name, is: shape, set: set)
        isKept = true
    }

    /// A known but unsupported member, which the schema leaves out.
    package init(unsupported name: String) {
        names = [name]
        describe = { _ in [] }
        read = { given, reading, _ throws(PealError) in
            if given.has(name) { throw .unsupported(reading.path(name)) }
        }
    }

    /// A member that only a rule reads, and that the schema leaves out.
    package init(known name: String) {
        names = [name]
        describe = { _ in [] }
        read = { _, _, _ in }
    }

    /// The member whose word identifies a case of a union (`Shape.tagged`).
    package init(tag name: String, _ word: String) {
        names = [name]
        describe = { _ in [.required(name, .word(word))] }
        read = { _, _, _ in }
    }

    /// Includes the members of another object among this object's own, with that object's rules.
    package init<Part>(including part: ObjectShape<Part>, _ path: any WritableKeyPath<Root, Part> & Sendable) {
        names = part.entries.flatMap(\.names)
        isRequired = part.entries.contains(where: \.isRequired)
        rules = part.rules.map { rule in
            Rule(rule.text, isForChanges: rule.isForChanges, violation: rule.violation) {
                root, given, reading throws(PealError) in
                try rule.check(root[keyPath: path], given, reading)
            }
        }
        describe = { describing in part.entries.flatMap { $0.describe(describing) } }
        read = { given, reading, root throws(PealError) in try part.store(given, &reading, &root[keyPath: path]) }
    }

    /// An object that is merged over the stored one, even in a request that is not a change: absent members keep their
    /// values, and null keeps the whole object.
    package init<Part>(
        part name: String, _ part: ObjectShape<Part>, _ path: any WritableKeyPath<Root, Part> & Sendable
    ) {
        names = [name]
        describe = { describing in [.optional(name, describing.optional(part.schema(describing)))] }
        read = { given, reading, root throws(PealError) in
            guard let (name, json) = given.find([name], isVerbatim: true) else { return }
            reading.enter(name)
            try part.apply(json, to: &root[keyPath: path], &reading)
            reading.leave()
        }
    }

    private static func properties(_ aliases: [String], like name: String, _ schema: Schema) -> [Property] {
        aliases.map { .optional($0, schema.described("The same as `\(name)`, which takes precedence.")) }
    }
}

extension Schema {
    /// Also allows line ends after a string, if the policy drops them.
    fileprivate func withLineEnds(_ policy: Policy) -> Schema {
        guard policy.trimsLineEnds, let pattern = self["pattern"]?.stringValue else { return self }
        return with("pattern", .string("\(pattern.dropLast())[\\n\\r]*$"))
    }
}

/// A condition on several members. The schema states violations under one `not`: validators check it, and client
/// generators ignore it, whereas unions of fragments would make them lose the type. `text` states the rule for people.
package struct Rule<Root: Sendable>: Sendable {
    let text: String?
    /// Whether it also applies to the members of a change.
    let isForChanges: Bool
    let violation: @Sendable (Describing) -> JSON?
    let check: @Sendable (Root, Given, borrowing Reading) throws(PealError) -> Void

    /// - Parameters:
    ///   - text: a sentence for the document.
    ///   - violation: a schema of the objects that violate the rule; nil if JSON Schema cannot express it.
    package init(
        _ text: String? = nil, isForChanges: Bool = true,
        violation: @escaping @Sendable (Describing) -> JSON? = { _ in nil },
        _ check: @escaping @Sendable (Root, Given, borrowing Reading) throws(PealError) -> Void
    ) {
        (self.text, self.isForChanges, self.violation, self.check) = (text, isForChanges, violation, check)
    }

    /// - Parameter field: the member that the error names; the second if nil.
    package static func notBoth(
        _ first: String, _ second: String, at field: String? = nil, _ message: String? = nil
    ) -> Rule {
        Rule("Give either `\(first)` or `\(second)`, not both.", violation: { .present([first, second], $0) }) {
            _, given, reading throws(PealError) in
            if given.has(first), given.has(second) {
                throw .invalid(
                    reading.path(field ?? second), message ?? "give either \(first) or \(second), not both")
            }
        }
    }

    /// - Parameter field: the member that the error names; the object itself if nil.
    package static func some(of names: [String], at field: String? = nil, _ message: String) -> Rule {
        let list = names.map { "`\($0)`" }.joined(separator: ", ")
        return Rule(
            "Give at least one of \(list).", isForChanges: false,
            violation: { describing in ["not": ["anyOf": .array(names.map { .present([$0], describing) })]] }
        ) { _, given, reading throws(PealError) in
            if !names.contains(where: given.has) {
                throw PealError(.missingField, message, field: field.map { reading.path($0) } ?? reading.path)
            }
        }
    }
}

extension JSON {
    /// A schema of objects that have all these members, with values that do not count as absent.
    package static func present(_ names: [String], _ describing: Describing) -> JSON {
        let types: JSON = ["string", "number", "boolean", "object", "array"]
        let value: JSON = describing.policy.isTolerant ? ["type": types, "minLength": 1] : ["type": types]
        return [
            "required": .array(names.map(JSON.string)),
            "properties": .object(JSON.Members(names.map { ($0, value) })),
        ]
    }
}
