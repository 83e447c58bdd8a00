import PealCore
import Testing

@Suite("Conditions")
struct ConditionTests {
    @Test(
        "versions are compared number by number, and pre-releases are before their release",
        arguments: [
            ("2.9", "2.10"), ("2.1-beta", "2.1"), ("2.1.0-alpha.2", "2.1.0-alpha.10"), ("1.0-alpha", "1.0-beta"),
            ("1.0-1", "1.0-alpha"), ("9", "10"), ("1.99999999999999999999998", "1.99999999999999999999999"),
            ("1.0-alpha", "1.0-alpha.1"), ("0.9", "v1"), ("2.1", "2.1.0.1"),
        ])
    func versions(_ lower: String, _ higher: String) throws {
        let (lower, higher) = (try #require(VersionNumber(lower)), try #require(VersionNumber(higher)))
        #expect(lower < higher)
        #expect(!(higher < lower))
        #expect(lower != higher)
    }

    @Test(
        "spellings of one version are equal",
        arguments: [("2.1", "2.1.0"), ("v2.1", "2.1"), ("2.01", "2.1"), ("2.1+7", "2.1"), ("2.1 (45)", "2.1.0")])
    func equalVersions(_ one: String, _ other: String) throws {
        let (one, other) = (try #require(VersionNumber(one)), try #require(VersionNumber(other)))
        #expect(one == other)
    }

    @Test("a text that does not begin with a number is not a version", arguments: ["", "v", "beta", ".1", "-1", " 1"])
    func notVersions(_ text: String) { #expect(VersionNumber(text) == nil) }

    @Test(
        "a locale matches a range at the borders of subtags",
        arguments: [
            ("de", "de", true), ("de-AT", "de", true), ("DE_at", "de", true), ("de-AT", "de-at", true),
            ("den", "de", false), ("de", "de-AT", false), ("en", "de", false), ("zh-Hant-TW", "zh-Hant", true),
        ])
    func locales(_ locale: String, _ range: String, _ isIn: Bool) {
        #expect(Condition.locale(locale, isIn: range) == isIn)
    }

    private static let attributes: JSON.Members = .init([
        ("plan", "pro"), ("age", 30), ("score", .number("1.5")), ("big", .number("9007199254740993")), ("beta", true),
        ("huge", .number("100000000000000000001")), ("tiny", .number("-1.50e-400")), ("zero", .number("-0.0")),
        ("none", .null), ("list", ["a"]),
    ])

    @Test(
        "tests of attributes compare by type and value",
        arguments: [
            ("plan", "is", #""pro""#, true), ("plan", "is", #""Pro""#, false), ("age", "is", "30.0", true),
            ("age", "is", #""30""#, false), ("beta", "is", "true", true), ("beta", "is", "false", false),
            ("plan", "in", #"["free","pro"]"#, true), ("plan", "in", #"["free"]"#, false),
            ("age", "gt", "29.5", true), ("age", "gt", "30", false), ("age", "gte", "30", true),
            ("age", "lt", "31", true), ("age", "lte", "29", false), ("score", "lt", "2", true),
            ("plan", "gt", #""pra""#, true), ("plan", "lt", "5", false), ("plan", "gte", "5", false),
            ("big", "is", "9007199254740992", false), ("big", "gt", "9007199254740992.5", true),
            ("huge", "is", "100000000000000000000", false), ("huge", "gt", "100000000000000000000", true),
            ("huge", "is", "1.00000000000000000001e20", true), ("huge", "lt", "1e400", true),
            ("huge", "gt", "9223372036854775807", true), ("huge", "gt", "-1e99999999999999999999", true),
            ("tiny", "is", "-15e-401", true), ("tiny", "lt", "0", true), ("tiny", "gt", "-1e-399", true),
            ("tiny", "lt", "1e-401", true), ("zero", "is", "0", true), ("zero", "gt", "-1e-9", true),
            ("zero", "lt", "0.001", true), ("age", "exists", "true", true),
            ("age", "exists", "false", false),
            ("gone", "exists", "false", true), ("gone", "is", "1", false), ("none", "exists", "true", false),
            ("list", "is", #""a""#, false),
        ])
    func attributes(_ name: String, _ test: String, _ value: String, _ passes: Bool) throws {
        let test = ConditionTest(try #require(.init(rawValue: test)), try JSONParser.parse(value))
        #expect(test.passes(Self.attributes[name]) == passes)
    }

    @Test("a value is found among many, however it is written")
    func amongMany() {
        let test = PreparedTest(ofAttribute: .init(.in, ["a", 1, true, .number("2.50"), "caf\u{E9}"]))
        for value in ["a", .number("1.0"), .number("10e-1"), true, .number("0.25e1")] as [JSON] {
            #expect(test.passes(attribute: value), "\(value)")
        }
        for value in ["1", "true", false, .number("2.5000001"), "cafe\u{301}", .null, ["a"]] as [JSON] {
            #expect(!test.passes(attribute: value), "\(value)")
        }
        #expect(PreparedTest(ofVersion: .init(.in, ["2.1", "3"])).passes(version: "v2.1.0"))
    }

    @Test("a device without a version passes only the test that it has none")
    func noVersion() {
        #expect(!ConditionTest(.gte, "1").passes(version: nil))
        #expect(!ConditionTest(.lt, "1").passes(version: "unknown"))
        #expect(ConditionTest(.exists, false).passes(version: nil))
        #expect(ConditionTest(.in, ["2.1", "2.2"]).passes(version: "2.2.0"))
    }

    @Test("what is stored is read back")
    func stored() throws {
        let condition = Condition.and([
            .or([.topic("a"), .user("b"), .segment("s")]), .not(.platform(.ios)),
            .device(DeviceID("10000000-0000-4000-8000-000000000001")!), .locale("de"), .timeZone("Europe/Vienna"),
            .attribute("plan", [.init(.in, ["a", 1, true]), .init(.exists, true)]),
            .appVersion([.init(.gte, "2.1"), .init(.lt, "3")]), .seen(withinDays: 30),
            .registered(after: Timestamp(milliseconds: 1_700_000_000_123)),
        ])
        #expect(Condition(stored: try JSONParser.parse(condition.json.text)) == condition)
        #expect(condition.depth == 3)
        #expect(condition.size == 14)
        #expect(Condition(stored: ["topic": "a", "user": "b"]) == nil)
        #expect(Condition(stored: ["and": [["nothing": 1]]]) == nil)
    }

    @Test("an address without a device has a platform and nothing else")
    func addresses() {
        #expect(Condition.platform(.ios).matches(addressOn: .ios))
        #expect(!Condition.topic("a").matches(addressOn: .ios))
        #expect(Condition.and([.platform(.ios), .not(.topic("a"))]).matches(addressOn: .ios))
        for exists in [true, false] {
            let test = ConditionTest(.exists, .bool(exists))
            #expect(Condition.attribute("plan", [test]).matches(addressOn: .ios) == !exists)
            #expect(Condition.appVersion([test]).matches(addressOn: .ios) == !exists)
        }
        #expect(!Condition.attribute("plan", [.init(.exists, false), .init(.is, "a")]).matches(addressOn: .ios))
    }

    @Test("segments are replaced by what they name, however they are nested")
    func resolution() throws {
        let segments: [String: Condition] = ["a": .segment("b"), "b": .not(.topic("t"))]
        var resolution = SegmentResolution { segments[$0] }
        #expect(
            try resolution.resolve(.and([.segment("a"), .user("u")]), at: "where")
                == .and([.not(.topic("t")), .user("u")]))
    }

    @Test("a segment that is missing or contains itself is refused with the path of the condition that names it")
    func refusedSegments() throws {
        let segments: [String: Condition] = [
            "a": .or([.segment("b")]), "b": .segment("a"), "c": .segment("gone"),
            "many": .and(
                Array(repeating: .topic("t"), count: 200)),
        ]
        func refusal(_ condition: Condition, defining name: String? = nil) -> PealError? {
            var resolution = SegmentResolution { segments[$0] }
            do {
                _ = try resolution.resolve(condition, at: "audience.where", defining: name)
                return nil
            } catch {
                return error as? PealError
            }
        }
        #expect(refusal(.and([.topic("t"), .segment("a")]))?.field == "audience.where.and[1].segment")
        #expect(refusal(.segment("a"))?.message.contains("a → b → a") == true)
        #expect(refusal(.not(.segment("c")))?.field == "audience.where.not.segment")
        #expect(refusal(.segment("c"))?.message.contains("gone") == true)
        #expect(refusal(.segment("x"), defining: "x")?.message.contains("x → x") == true)
        #expect(refusal(.or(Array(repeating: .segment("many"), count: 6)))?.code == .invalidField)
        let large = Condition.topic(String(repeating: "t", count: 1000))
        #expect(refusal(.or(Array(repeating: large, count: 250))) == nil)
        #expect(refusal(.or(Array(repeating: large, count: 300)))?.message.contains("bytes") == true)
        var deep = Condition.topic("t")
        for _ in 0..<100 { deep = .not(deep) }
        #expect(refusal(deep)?.code == .invalidField)
    }
}
