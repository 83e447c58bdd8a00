package import PealCore

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
            let schema = describing.required(shape.describe(describing))
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

    /// The members of another object among this object's own, with that object's rules.
    package static func including(_ part: ObjectShape<Root>) -> [Entry] {
        part.entries.enumerated().map { index, entry in
            var own = entry
            // An object's rules contain those of its entries.
            own.rules = index == 0 ? part.rules : []
            return own
        }
    }

    /// The members of another object among this object's own, with that object's rules.
    /// - Parameter path: where the other object's value is stored.
    package static func including<Part>(
        _ part: ObjectShape<Part>, in path: any WritableKeyPath<Root, Part> & Sendable
    ) -> [Entry] {
        Entry<Part>.including(part).map { Entry($0, in: path) }
    }

    /// A member of an included object.
    private init<Part>(_ entry: Entry<Part>, in path: any WritableKeyPath<Root, Part> & Sendable) {
        (names, isKept, isRequired, describe) = (entry.names, entry.isKept, entry.isRequired, entry.describe)
        rules = entry.rules.map { rule in
            Rule(rule.text, isForChanges: rule.isForChanges, violation: rule.violation) {
                root, given, reading throws(PealError) in
                try rule.check(root[keyPath: path], given, reading)
            }
        }
        read = { given, reading, root throws(PealError) in try entry.read(given, &reading, &root[keyPath: path]) }
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
            violation: { ["not": .somePresent(names, $0)] }
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

    /// A schema of objects that have at least one of these members, as in `present`.
    package static func somePresent(_ names: [String], _ describing: Describing) -> JSON {
        ["anyOf": .array(names.map { .present([$0], describing) })]
    }

    /// A schema of objects in which this member is a list that is not empty.
    package static func filledList(_ name: String) -> JSON {
        ["required": [.string(name)], "properties": .object(JSON.Members([(name, ["type": "array", "minItems": 1])]))]
    }
}

/// Builds the entries of an `ObjectShape`.
@resultBuilder
package enum EntryBuilder<Root: Sendable> {
    package static func buildExpression(_ entry: Entry<Root>) -> [Entry<Root>] { [entry] }
    package static func buildExpression(_ entries: [Entry<Root>]) -> [Entry<Root>] { entries }
    package static func buildBlock(_ parts: [Entry<Root>]...) -> [Entry<Root>] { parts.flatMap { $0 } }
    package static func buildArray(_ parts: [[Entry<Root>]]) -> [Entry<Root>] { parts.flatMap { $0 } }
    package static func buildOptional(_ part: [Entry<Root>]?) -> [Entry<Root>] { part ?? [] }
}
