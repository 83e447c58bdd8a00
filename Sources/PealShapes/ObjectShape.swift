package import PealCore

/// An object: a component of the document, and a value that is filled member by member.
package struct ObjectShape<Root: Sendable>: Sendable {
    let name: String
    let start: Root
    let entries: [Entry<Root>]
    let rules: [Rule<Root>]
    private let text: String?
    private let names: [String]
    /// Of `names`, those that `extra` does not get.
    private let taken: [String]
    private let extra: (@Sendable (inout Root, JSON.Members) -> Void)?

    /// - Parameters:
    ///   - name: of the component.
    ///   - start: what there is before a member is read.
    ///   - text: a sentence for the document.
    ///   - extra: takes the members that no entry takes, for objects that pass them on.
    package init(
        _ name: String, _ start: Root, _ text: String? = nil, rules: [Rule<Root>] = [],
        extra: (@Sendable (inout Root, JSON.Members) -> Void)? = nil,
        @EntryBuilder<Root> _ entries: () -> [Entry<Root>]
    ) {
        let entries = entries()
        (self.name, self.start, self.text, self.extra, self.entries) = (name, start, text, extra, entries)
        self.rules = entries.flatMap(\.rules) + rules
        names = entries.flatMap(\.names)
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

    /// Reads a change into what is stored: what is not mentioned stays, and null clears.
    package func apply(_ body: JSON, to root: inout Root, _ policy: Policy, now: Timestamp) throws(PealError) {
        var reading = Reading(policy: policy, now: now)
        try read(body, into: &root, &reading, isChange: true)
    }

    /// A change as a member of another object.
    package func apply(_ json: JSON, to root: inout Root, _ reading: inout Reading) throws(PealError) {
        try read(json, into: &root, &reading, isChange: true)
    }

    private func read(
        _ json: JSON, into root: inout Root, _ reading: inout Reading, isChange: Bool
    ) throws(PealError) {
        guard case .object(let members) = json else { throw reading.wrongType(json, "an object") }
        let given = Given(members: members, policy: reading.policy, isChange: isChange)
        try store(given, &reading, &root)
        if let extra {
            var rest = members
            for name in taken { rest[name] = nil }
            extra(&root, rest)
        } else if reading.policy.refusesUnknown {
            for name in members.names where !names.contains(name) {
                let near = Spelling.nearest(to: name, names).map { "; did you mean \($0)?" } ?? ""
                throw .invalid(reading.path(name), "\(reading.path(name)) is unknown\(near)")
            }
        }
        for rule in rules where !isChange || rule.isForChanges { try rule.check(root, given, reading) }
    }

    func store(_ given: Given, _ reading: inout Reading, _ root: inout Root) throws(PealError) {
        for entry in entries { try entry.read(given, &reading, &root) }
    }

    package func schema(_ describing: Describing) -> Schema { .component(name, body(describing, isChange: false)) }

    /// The schema of a change; no member is required.
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

/// The members that a request gives to one object.
package struct Given: Sendable {
    package let members: JSON.Members
    let policy: Policy
    let isChange: Bool

    func find(_ names: [String], isVerbatim: Bool) -> (String, JSON)? {
        for name in names {
            guard let json = members[name] else { continue }
            let value = isVerbatim ? json : policy.trimmed(json)
            if !policy.isAbsent(value) { return (name, value) }
        }
        return nil
    }

    /// Whether one of the names is there, with a null perhaps.
    func mentions(_ names: [String]) -> Bool {
        names.contains { name in members[name].map { !(policy.leavesNull && $0.isNull) } ?? false }
    }

    /// Whether the member is there with a value that does not count as absent.
    package func has(_ name: String) -> Bool { members[name].map { !policy.isAbsent($0) } ?? false }
}

/// One member of a `Root` under construction: its names, its shape, and where its value goes. The types of values are
/// gone here, so objects of any size cost the compiler one line at a time.
package struct Entry<Root: Sendable>: Sendable {
    let names: [String]
    /// Whether the member stays among those that an object passes on as they were written.
    var isKept = false
    /// Of a part that is laid beside this object's own members.
    var rules: [Rule<Root>] = []
    let describe: @Sendable (Describing) -> [Property]
    /// Stores what is given; nothing where the member is missing.
    let read: @Sendable (Given, inout Reading, inout Root) throws(PealError) -> Void

    /// A member that may be missing.
    /// - Parameters:
    ///   - aliases: further names, looked for in this order.
    ///   - isVerbatim: whether line ends behind the text stay although the policy drops them.
    ///   - set: is not called for a missing member, and gets nil for null.
    package init<Value>(
        _ name: String, or aliases: String..., is shape: Shape<Value>, isVerbatim: Bool = false,
        set: @escaping @Sendable (inout Root, Value?) -> Void
    ) {
        let names = [name] + aliases
        self.names = names
        describe = { describing in
            let trims = describing.policy.trimsLineEnds && !isVerbatim
            return [.optional(name, describing.optional(Self.schema(shape, aliases, trims: trims, describing)))]
        }
        read = { given, reading, root throws(PealError) in
            if let (name, json) = given.find(names, isVerbatim: isVerbatim) {
                reading.enter(name)
                let value = try shape.read(json, &reading)
                reading.leave()
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

    /// A member that must be there.
    package init<Value>(
        required name: String, or aliases: String..., is shape: Shape<Value>, isVerbatim: Bool = false,
        set: @escaping @Sendable (inout Root, Value) -> Void
    ) {
        let names = [name] + aliases
        self.names = names
        describe = { describing in
            let trims = describing.policy.trimsLineEnds && !isVerbatim
            return [.required(name, Self.schema(shape, aliases, trims: trims, describing))]
        }
        read = { given, reading, root throws(PealError) in
            guard let (name, json) = given.find(names, isVerbatim: isVerbatim) else {
                // What must be there cannot be cleared; tolerant readers leave it.
                if given.isChange, given.policy.isTolerant || !given.mentions(names) { return }
                throw .missing(reading.path(name))
            }
            reading.enter(name)
            let value = try shape.read(json, &reading)
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
        self.init(name, is: shape) { _, _ in }
        isKept = true
    }

    /// A member that is known and not supported; the schema does not name it.
    package init(unsupported name: String) {
        names = [name]
        describe = { _ in [] }
        read = { given, reading, _ throws(PealError) in
            if given.has(name) { throw .unsupported(reading.path(name)) }
        }
    }

    /// The member by which a union is told apart (`Shape.tagged`): this word.
    package init(tag name: String, _ word: String) {
        names = [name]
        describe = { _ in [.required(name, .word(word))] }
        read = { _, _, _ in }
    }

    /// The members of another object, laid beside this one's own; its rules come along.
    package init<Part>(including part: ObjectShape<Part>, _ path: any WritableKeyPath<Root, Part> & Sendable) {
        names = part.entries.flatMap(\.names)
        rules = part.rules.map { rule in
            Rule(rule.text, isForChanges: rule.isForChanges, violation: rule.violation) {
                root, given, reading throws(PealError) in
                try rule.check(root[keyPath: path], given, reading)
            }
        }
        describe = { describing in part.entries.flatMap { $0.describe(describing) } }
        read = { given, reading, root throws(PealError) in try part.store(given, &reading, &root[keyPath: path]) }
    }

    /// An object laid over what is there: what it does not mention stays, in a request too, and null leaves all of it.
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

    private static func schema<Value>(
        _ shape: Shape<Value>, _ aliases: [String], trims: Bool, _ describing: Describing
    ) -> Schema {
        var schema = shape.describe(describing)
        if trims, let pattern = schema["pattern"]?.stringValue {
            schema = schema.with("pattern", .string("\(pattern.dropLast())[\\n\\r]*$"))
        }
        guard !aliases.isEmpty else { return schema }
        return schema.described("Also \(aliases.map { "`\($0)`" }.joined(separator: ", ")).")
    }
}

/// What holds between members. The schema says what breaks it, under one `not`: validators read that, and generators of
/// clients pass over it, where unions of fragments would cost them the type. For people it is said in words.
package struct Rule<Root: Sendable>: Sendable {
    let text: String?
    /// Whether it holds for what a change mentions, too.
    let isForChanges: Bool
    let violation: @Sendable (Describing) -> JSON?
    let check: @Sendable (Root, Given, borrowing Reading) throws(PealError) -> Void

    /// - Parameters:
    ///   - text: a sentence for the document.
    ///   - violation: a schema of the objects that break the rule, where JSON Schema can say it.
    package init(
        _ text: String? = nil, isForChanges: Bool = true,
        violation: @escaping @Sendable (Describing) -> JSON? = { _ in nil },
        _ check: @escaping @Sendable (Root, Given, borrowing Reading) throws(PealError) -> Void
    ) {
        (self.text, self.isForChanges, self.violation, self.check) = (text, isForChanges, violation, check)
    }

    /// - Parameter field: which of the two the refusal names; the second if nil.
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

    /// - Parameter field: which member the refusal names; the object itself if nil.
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
    /// A schema of objects that have all of these members, with values that do not count as absent.
    package static func present(_ names: [String], _ describing: Describing) -> JSON {
        let types: JSON = ["string", "number", "boolean", "object", "array"]
        let value: JSON = describing.policy.isTolerant ? ["type": types, "minLength": 1] : ["type": types]
        return [
            "required": .array(names.map(JSON.string)),
            "properties": .object(JSON.Members(names.map { ($0, value) })),
        ]
    }
}

/// What an author may have meant.
enum Spelling {
    static func nearest(to name: String, _ names: [String]) -> String? {
        let plain = { (text: String) in Array(text.lowercased().utf8.filter { $0 != 0x5F && $0 != 0x2D }) }
        return names.map { ($0, distance(plain(name), plain($0))) }
            .filter { $0.1 <= ($0.0.utf8.count < 4 ? 1 : max(2, $0.0.utf8.count / 4)) }.min { $0.1 < $1.1 }?.0
    }

    /// Levenshtein's.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.prefix(64).enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (byte == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(row[column] + 1, row[column + 1] + 1, replaced)
            }
        }
        return row[right.count]
    }
}
