package import PealCore

extension Shape {
    /// A list of `min` to `max` elements. Tolerant readers skip null elements.
    /// - Parameter skipsEmpty: whether they skip "" too.
    package static func list<Element>(
        _ element: Shape<Element>, min: Int = 0, max: Int, skipsEmpty: Bool = false,
        refusingEmpty: String = "must contain at least one element"
    ) -> Shape where Value == [Element] {
        Shape { json, reading throws(PealError) in
            guard case .array(let elements) = json else { throw reading.wrongType(json, "an array") }
            guard elements.count <= max else { throw reading.refusal("may contain at most \(max) elements") }
            guard elements.count >= min else { throw reading.refusal(refusingEmpty) }
            var values: [Element] = []
            values.reserveCapacity(elements.count)
            for (index, json) in elements.enumerated() {
                if reading.policy.isTolerant, skipsEmpty ? reading.policy.isAbsent(json) : json.isNull { continue }
                reading.enter(index)
                values.append(try element.read(json, &reading))
                reading.leave()
            }
            return values
        } describe: { describing in
            let items = element.describe(describing)
            guard describing.policy.isTolerant else { return .list(items, min...max) }
            return .list(skipsEmpty ? describing.optional(items) : describing.required(items).orNull, min...max)
        }
    }

    /// A list of distinct elements in the order given; repeated elements are dropped.
    package static func distinct<Element: Hashable>(
        _ element: Shape<Element>, max: Int
    ) -> Shape where Value == [Element] {
        list(element, max: max).map { values in
            var seen: Set<Element> = []
            return values.filter { seen.insert($0).inserted }
        }
    }

    /// A list of distinct strings. They are compared by bytes, because Swift's `==` treats different spellings of a
    /// character as equal.
    package static func texts(_ element: Shape<String> = .text(), max: Int) -> Shape where Value == [String] {
        list(element, max: max, skipsEmpty: true).map { texts in
            var seen: Set<[UInt8]> = []
            return texts.filter { seen.insert(Array($0.utf8)).inserted }
        }
    }

    /// The topics of one device. The schema states the configured maximum, which `DeviceQuota` checks.
    package static func topicsOfDevice(_ name: Shape<String> = .text()) -> Shape where Value == [String] {
        let topics = texts(name, max: Limits.topicsPerDeviceMax)
        return topics.described { describing in
            topics.describe(describing).with("maxItems", .integer(describing.topicsPerDeviceMax))
        }
    }

    /// An object with one value for each name. Tolerant readers skip absent values.
    /// - Parameters:
    ///   - things: what the values are, in the plural, for error messages.
    ///   - key: the error message for an invalid name; nil for a valid one.
    package static func map<Element>(
        _ name: String, _ element: Shape<Element>, _ range: ClosedRange<Int>, of things: String,
        key: @escaping @Sendable (String) -> String?, keySchema: Schema
    ) -> Shape where Value == [String: Element] {
        Shape { json, reading throws(PealError) in
            let isTolerant = reading.policy.isTolerant
            guard case .object(let members) = json else { throw reading.wrongType(json, "an object") }
            guard range.contains(members.count) || isTolerant && members.isEmpty else {
                throw reading.refusal(
                    isTolerant
                        ? "may contain at most \(range.upperBound) \(things)"
                        : "must contain \(range.lowerBound) to \(range.upperBound) \(things)")
            }
            var values: [String: Element] = [:]
            for (name, json) in members.pairs {
                reading.enter(name)
                if let message = key(name) { throw .invalid(reading.path, message) }
                if !isTolerant || !reading.policy.isAbsent(json) { values[name] = try element.read(json, &reading) }
                reading.leave()
            }
            return values
        } describe: { describing in
            let items = element.describe(describing)
            let isTolerant = describing.policy.isTolerant
            return .component(
                name,
                Schema.map(isTolerant ? describing.optional(items) : items).with("propertyNames", keySchema.json)
                    .with("minProperties", .integer(isTolerant ? 0 : range.lowerBound))
                    .with("maxProperties", .integer(range.upperBound)))
        }
    }

    /// One shape for objects and another for all other values. The object's shape must be a component.
    /// - Parameter expected: the expected type in the error for a value that is neither; nil lets `scalar` report the
    ///   error.
    package static func either(
        _ name: String, _ scalar: Shape, or object: Shape, expected: String? = nil
    ) -> Shape {
        Shape { json, reading throws(PealError) in
            if json.objectValue != nil { return try object.read(json, &reading) }
            if let expected, json.arrayValue != nil || !reading.policy.isTolerant && json.stringValue == nil {
                throw reading.wrongType(json, expected)
            }
            return try scalar.read(json, &reading)
        } describe: { describing in
            .component(name, .any(of: [scalar.describe(describing), object.describe(describing)]))
        }
    }

    /// Objects of several kinds, distinguished by the word in the member `tag`. Each kind has an `Entry(tag:)` with its
    /// word.
    /// - Parameter expected: the text after the path in the error for an unknown word.
    package static func tagged(
        _ name: String, by tag: String, _ cases: [(String, Shape)], expected: String? = nil
    ) -> Shape {
        let words = cases.map(\.0)
        let expected = expected ?? "must be one of \(words.joined(separator: ", "))"
        return Shape { json, reading throws(PealError) in
            guard let members = json.objectValue else { throw reading.wrongType(json, "an object") }
            guard let given = members[tag], !reading.policy.isAbsent(given) else {
                throw .missing(reading.path(tag))
            }
            reading.enter(tag)
            let word = try Shape<String>.text().read(given, &reading)
            guard let index = words.firstIndex(of: word) else { throw reading.refusal(expected) }
            reading.leave()
            return try cases[index].1.read(json, &reading)
        } describe: { describing in
            .component(name, .one(of: cases.map { $0.1.describe(describing) }))
        }
    }
}

extension Shape {
    /// Refuses control characters in names and strings at any depth, except those that content may contain.
    package func contentOnly() -> Shape {
        Shape(
            read: { json, reading throws(PealError) in
                let value = try read(json, &reading)
                try reading.checkContent(json)
                return value
            }, describe: describe)
    }
}

extension Shape where Value == JSON {
    /// Any JSON value.
    package static let anything = Shape(read: { json, _ throws(PealError) in json }, describe: { _ in .anything })
}

extension Shape where Value == JSON.Members {
    /// An object of the author's own, in which every string at any depth must be content.
    package static let data = Shape { json, reading throws(PealError) in
        let members = try reading.members(of: json)
        try reading.checkContent(json)
        return members
    } describe: { _ in
        .openObject
    }
}

extension JSON {
    /// The text of a string, a number or a boolean, which tolerant readers accept as strings; nil for anything else.
    package var scalarText: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .null, .array, .object: nil
        }
    }

    /// The text of a scalar, or the JSON of anything else.
    package var asText: String { scalarText ?? text }

    /// Arguments of a localized text, as strings. An absent one is empty, because the others are found by position.
    package static func arguments(_ list: [JSON]) -> JSON {
        .array(list.map { .string($0.isNull ? "" : $0.asText) })
    }
}

extension Shape where Value == JSON.Members {
    /// An object whose members are not checked.
    package static let anyObject = Shape { json, reading throws(PealError) in
        try reading.members(of: json)
    } describe: { _ in
        .openObject
    }
}

extension Schema {
    /// An object with the author's own members.
    package static let openObject = Schema.component("OpenObject", Schema.object.with("additionalProperties", true))
}

extension Reading {
    /// The control characters (C0, DEL) that content may contain: tabs and line ends.
    package static let contentControls: Set<UInt8> = [0x09, 0x0A, 0x0D]

    /// Refuses control characters in names and strings at any depth.
    package mutating func checkContent(
        _ json: JSON, allowing controls: Set<UInt8> = contentControls
    ) throws(PealError) {
        switch json {
        case .string(let text): try checkContent(of: text, allowing: controls)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                enter(index)
                try checkContent(element, allowing: controls)
                leave()
            }
        case .object(let members):
            for (name, value) in members.pairs {
                try checkContent(of: name, allowing: controls)
                enter(name)
                try checkContent(value, allowing: controls)
                leave()
            }
        case .null, .bool, .number: break
        }
    }

    package func checkContent(
        of text: String, allowing controls: Set<UInt8> = contentControls
    ) throws(PealError) {
        let isContent = text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || ($0 < 0x20 && controls.contains($0)) }
        guard isContent else { throw refusal("must not contain control characters") }
    }
}
