import PealCore
import PealShapes
import Testing

/// A request that has one of everything.
private struct Order: Sendable, Equatable {
    var name = ""
    var count: Int64?
    var isUrgent = false
    var life: String?
    var topics: [String]?
    var color: Color?
    var size = Size()
}

private struct Size: Sendable, Equatable {
    var width: Int64 = 1
    var height: Int64 = 2
}

private enum Color: String, CaseIterable, Sendable {
    case red, green
}

private let size = ObjectShape("Size", Size()) {
    Entry("width", .integer(0...100)) { $0.width = $1 ?? $0.width }
    Entry("height", .integer(0...100)) { $0.height = $1 ?? $0.height }
}

private let order = ObjectShape(
    "Order", Order(), rules: [.notBoth("until", "for"), .some(of: ["name", "count"], "name somebody")]
) {
    Entry(required: "name", .text(characters: 5)) { $0.name = $1 }
    Entry("count", is: .integer(1...12)) { $0.count = $1 }
    Entry("urgent", or: "is_urgent", is: .flag) { $0.isUrgent = $1 ?? false }
    Entry("until", .text()) { if let text = $1 { $0.life = text } }
    Entry("for", .text()) { if let text = $1 { $0.life = text } }
    Entry("topics", .texts(max: 3)) { $0.topics = $1 ?? [] }
    Entry("color", .words("Color")) { $0.color = $1 }
    Entry("size", size.shape) { $0.size = $1 ?? $0.size }
}

private func read(_ text: String, _ policy: Policy = .strict) throws -> Order {
    try order.value(of: try JSONParser.parse(text), policy, now: Timestamp(milliseconds: 0))
}

/// Reads what must be refused; gives `code field: message`.
private func refusal(_ text: String, _ policy: Policy = .strict) throws -> String? {
    do {
        _ = try read(text, policy)
        return nil
    } catch let error as PealError {
        return "\(error.code.rawValue) \(error.field ?? ""): \(error.message)"
    }
}

@Suite("A shape reads")
struct ShapeReadingTests {
    @Test("what is given, and leaves what is missing at the start value")
    func given() throws {
        #expect(try read(#"{"name":"ann"}"#) == Order(name: "ann"))
        let whole = try read(
            #"{"name":"ann","count":3,"is_urgent":true,"for":"ever","topics":["a","b","a"],"color":"red"}"#)
        #expect(
            whole == Order(name: "ann", count: 3, isUrgent: true, life: "ever", topics: ["a", "b"], color: .red))
    }

    @Test("null as absent where the setter does not say otherwise")
    func null() throws {
        #expect(try read(#"{"name":"ann","count":null,"topics":null}"#) == Order(name: "ann", topics: []))
        #expect(try read(#"{"name":"ann","until":"x","for":null}"#).life == "x")
    }

    @Test(
        "nothing else, and says where and why",
        arguments: [
            (#"{}"#, "missing_field name: name is required"),
            (#"{"name":null}"#, "missing_field name: name is required"),
            (#"{"name":""}"#, "invalid_field name: name must be 1 to 5 characters long"),
            (#"{"name":"abcdef"}"#, "invalid_field name: name must be 1 to 5 characters long"),
            (#"{"name":"a\u0007"}"#, "invalid_field name: name must not contain control characters"),
            (#"{"name":5}"#, "invalid_field name: name must be a string, not a number"),
            (#"{"name":"a","count":"3"}"#, "invalid_field count: count must be an integer, not a string"),
            (#"{"name":"a","count":13}"#, "invalid_field count: count must be an integer from 1 to 12"),
            (#"{"name":"a","topics":["b",5]}"#, "invalid_field topics[1]: topics[1] must be a string, not a number"),
            (
                #"{"name":"a","topics":["b","c","d","e"]}"#,
                "invalid_field topics: topics may contain at most 3 elements"
            ),
            (#"{"name":"a","color":"blue"}"#, "invalid_field color: color must be one of red, green"),
            (#"{"name":"a","until":"x","for":"y"}"#, "invalid_field for: give either until or for, not both"),
            (
                #"{"name":"a","size":{"width":-1}}"#,
                "invalid_field size.width: size.width must be an integer from 0 to 100"
            ),
            (#"[]"#, "invalid_field body: body must be an object, not an array"),
        ])
    func refused(body: String, expected: String) throws {
        #expect(try refusal(body) == expected)
    }

    @Test("numbers, flags and texts for each other under a tolerant policy")
    func tolerant() throws {
        let order = try read(
            #"{"name":12,"count":"3","urgent":"TRUE","topics":["a",null],"color":"RED","until":""}"#, .tolerant)
        #expect(order == Order(name: "12", count: 3, isUrgent: true, topics: ["a"], color: .red))
        for (text, flag) in [("1.0", true), (#""1e0""#, true), ("0.0", false), (#"" false ""#, false)] {
            #expect(try read(#"{"name":"a","urgent":\#(text)}"#, .tolerant).isUrgent == flag)
        }
        #expect(try refusal(#"{"name":""}"#, .tolerant) == "missing_field name: name is required")
    }

    @Test("an empty list as an empty object under a tolerant policy")
    func emptyList() throws {
        let part = #"{"name":"ann","size":[]}"#
        #expect(try read(part, .tolerant) == Order(name: "ann"))
        #expect(try refusal(part) == "invalid_field size: size must be an object, not an array")
        let filled = #"{"name":"ann","size":[{}]}"#
        #expect(try refusal(filled, .tolerant) == "invalid_field size: size must be an object, not an array")
    }

    @Test("a text without the line ends behind it where the policy drops them")
    func trimmed() throws {
        let policy = Policy(isTolerant: true, trimsLineEnds: true)
        #expect(try read(#"{"name":"abcde\r\n\n"}"#, policy).name == "abcde")
    }

    @Test("a change over what is stored: what is not mentioned stays, null clears")
    func change() throws {
        var stored = Order(name: "ann", count: 3, topics: ["a"], size: Size(width: 7, height: 8))
        let change: JSON = ["count": .null, "size": ["height": 9], "topics": .null]
        try order.apply(change, to: &stored, .strict, now: Timestamp(milliseconds: 0))
        #expect(stored == Order(name: "ann", topics: [], size: Size(width: 1, height: 9)))
        #expect(throws: PealError.missing("name")) {
            try order.apply(["name": .null], to: &stored, .strict, now: Timestamp(milliseconds: 0))
        }
    }

    @Test("members that it does not declare as the policy says, with a hint")
    func unknown() throws {
        #expect(try read(#"{"name":"a","colour":"red"}"#) == Order(name: "a"))
        let policy = Policy(refusesUnknown: true)
        #expect(
            try refusal(#"{"name":"a","colour":"red"}"#, policy)
                == "unknown_field colour: colour is unknown; did you mean color?")
        #expect(try refusal(#"{"name":"a","zzz":1}"#, policy) == "unknown_field zzz: zzz is unknown")
    }

    @Test("a member whose refusal waits, and the members after it at their own path")
    func deferred() throws {
        struct Held: Sendable {
            var first: Result<Int64, PealError>?
        }
        let shape = ObjectShape("Held", Held()) {
            Entry("first", Shape.integer(0...1).deferred()) { $0.first = $1 }
            Entry("second", .integer(0...1)) { _, _ in }
        }
        let outer = ObjectShape("Outer", Held()) { Entry("held", shape.shape) { $0 = $1 ?? $0 } }
        let held = try outer.value(of: ["held": ["first": 5]], .strict, now: Timestamp(milliseconds: 0))
        #expect(throws: PealError.self) { try held.first?.get() }
        #expect(throws: PealError.invalid("held.second", "held.second must be an integer from 0 to 1")) {
            try outer.value(of: ["held": ["first": 5, "second": 5]], .strict, now: Timestamp(milliseconds: 0))
        }
    }
}

@Suite("A shape describes")
struct ShapeDescribingTests {
    private static func text(_ schema: Schema, _ name: String) -> String? { schema.components[name]?.json.text }

    @Test("an object as a component, with what must be there and what may be null")
    func object() {
        let schema = size.schema(Describing(policy: .strict, now: Timestamp(milliseconds: 0)))
        #expect(schema.json == ["$ref": "#/components/schemas/Size"])
        let member = #"{"type":["integer","null"],"minimum":0,"maximum":100}"#
        #expect(
            Self.text(schema, "Size") == #"{"type":"object","properties":{"width":\#(member),"height":\#(member)}}"#)
    }

    @Test("the members of an included object with its own, and components of components")
    func including() {
        struct Parcel: Sendable {
            var order = Order()
        }
        let parcel = ObjectShape("Parcel", Parcel()) { Entry.including(order, in: \.order) }
        let schema = parcel.schema(Describing(policy: .strict, now: Timestamp(milliseconds: 0)))
        let shown = schema.components["Parcel"]
        #expect(shown?["required"] == ["name"])
        #expect(
            shown?["properties"]?["color"]
                == ["anyOf": [["$ref": "#/components/schemas/Color"], ["$ref": "#/components/schemas/Null"]]])
        #expect(schema.components.keys.sorted() == ["Color", "Null", "Parcel", "Size"])
        #expect(Self.text(schema, "Color") == #"{"type":"string","enum":["red","green"]}"#)
    }

    @Test("a change, in which nothing must be there")
    func change() {
        let schema = order.change("OrderChange", Describing(policy: .strict, now: Timestamp(milliseconds: 0)))
        #expect(schema.components["OrderChange"]?["required"] == nil)
        #expect(schema.components["OrderChange"]?["properties"]?["name"]?["type"] == "string")
    }

    @Test("what a tolerant policy also accepts")
    func tolerant() {
        let schema = order.schema(Describing(policy: .tolerant, now: Timestamp(milliseconds: 0)))
        let properties = schema.components["Order"]?["properties"]
        #expect(properties?["count"]?["type"] == ["integer", "string", "null"])
        #expect(properties?["topics"]?["type"] == ["array", "string", "null"])
        let choices = ["Size", "EmptyList", "Absent"].map { ["$ref": .string("#/components/schemas/\($0)")] as JSON }
        #expect(properties?["size"]?["anyOf"] == .array(choices))
    }

    @Test(
        "a time in the future, with any offset",
        arguments: [
            ("2026-05-28T20:26:41Z", true), ("2026-05-27T20:30:00-23:59", true), ("2026-05-29T10:00:00+14:00", true),
            ("2027-01-01T00:00:00Z", true), ("2026-05-26T23:59:59Z", false), ("2025-12-31T00:00:00Z", false),
        ])
    func future(text: String, isAllowed: Bool) throws {
        // 2026-05-28T20:26:40Z.
        let schema = Schema.future(after: Timestamp(milliseconds: 1_780_000_000_000))
        let pattern = try Regex(#require(schema["pattern"]?.stringValue))
        #expect((text.firstMatch(of: pattern) != nil) == isAllowed)
    }

    @Test("whole numbers of a range as a pattern", arguments: [0, 7, 60, 1000, 2_147_483_647] as [Int64])
    func digits(limit: Int64) throws {
        let pattern = try Regex("^(?:\(Shape<Int64>.digits(to: limit)))$")
        for number in [0, limit / 2, max(0, limit - 1), limit] {
            #expect(String(number).firstMatch(of: pattern) != nil, "\(number)")
        }
        #expect(String(limit + 1).firstMatch(of: pattern) == nil)
        #expect(String(limit * 10 + 9).firstMatch(of: pattern) == nil)
    }
}
