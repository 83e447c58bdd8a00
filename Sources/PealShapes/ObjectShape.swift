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
    /// The names of members that `extra` does not receive.
    private let taken: Set<ExactText>
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
        taken = Set(entries.filter { !$0.isKept }.flatMap(\.names).map { ExactText($0) })
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
        let members = try reading.members(of: json)
        // Checked first, because a required member that seems to be missing may be misspelled.
        if extra == nil, reading.policy.refusesUnknown { try refuseUnknown(members, reading) }
        let given = Given(members: members, policy: reading.policy, isChange: isChange)
        try store(given, &reading, &root)
        if let extra {
            var rest = members
            _ = rest.removeAll { taken.contains(ExactText($0)) }
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
