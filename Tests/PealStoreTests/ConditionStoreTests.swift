import PealCore
@testable import PealStore
import PealTesting
import Testing

@Suite("Conditions in the store")
struct ConditionStoreTests {
    private static func registration(
        _ number: Int, _ route: Route = .apnsProduction, user: String? = nil, topics: [String] = [],
        locale: String? = nil, zone: String? = nil, version: String? = nil, attributes: [(String, JSON)] = []
    ) -> DeviceRegistration {
        var registration = Fixture.registration(number, route: route, user: user, topics: topics)
        registration.locale = locale
        registration.timeZone = zone
        registration.detail.appVersion = version
        registration.detail.attributes = .init(attributes)
        return registration
    }

    /// Six devices on three routes; the fifth registered a day earlier, the sixth is retired.
    private func populated(_ engine: StoreUnderTest) async throws -> Fixture {
        let fixture = try await Fixture(engine)
        try await fixture.register(Self.registration(5, user: "old", locale: "fr"))
        fixture.time.advance(by: .seconds(86_400 * 10))
        for registration in [
            Self.registration(
                1, user: "anna", topics: ["a", "b"], locale: "de-AT", zone: "Europe/Vienna", version: "2.10",
                attributes: [("plan", "pro"), ("age", 30)]),
            Self.registration(
                2, .fcm, user: "anna", topics: ["a"], locale: "de", version: "2.9", attributes: [("plan", "free")]),
            Self.registration(3, .apnsSandbox, user: "bert", topics: ["b"], locale: "en", zone: "Europe/Vienna"),
            Self.registration(4, topics: ["c"], locale: "DE", version: "3.0-beta", attributes: [("age", 12)]),
            Self.registration(6, user: "gone", locale: "de"),
        ] { try await fixture.register(registration) }
        let (app, now) = (fixture.app, fixture.now)
        _ = try await fixture.store.write(.control) { try $0.deleteDevice(app: app, id: Fixture.deviceID(6), now: now) }
        return fixture
    }

    /// The numbers of the devices, as `send` reaches and as `audienceCount` counts them.
    private func reached(_ fixture: Fixture, _ audience: Audience) async throws -> [Int] {
        let (id, plan) = try await fixture.send(audience, owner: nil)
        var reached: [Int] = []
        for route in [Route.apnsProduction, .apnsSandbox, .fcm] {
            let keys = try await Worker(fixture: fixture).run(route)
            reached += try await fixture.store.read { [app = fixture.app] store in
                try keys.compactMap { key in
                    try store.devices(app: app, DeviceFilter(), after: key - 1, limit: 1).first.map {
                        Int($0.id.bytes[15])
                    }
                }
            }
        }
        #expect(try await fixture.state(id) == .sent)
        let (app, now) = (fixture.app, fixture.now)
        let counted = try await fixture.store.read {
            try $0.audienceCount(app: app, audience, environment: nil, now: now).values.reduce(0, +)
        }
        #expect(counted == reached.count)
        let estimated = try await fixture.store.read {
            try $0.audienceEstimate(app: app, audience, environment: nil, now: now).values.reduce(0, +)
        }
        #expect(estimated == reached.count)
        #expect(plan.state == (reached.isEmpty ? .sent : .sending))
        return reached.sorted()
    }

    private static func audience(_ condition: Condition) -> Audience {
        var audience = Audience()
        audience.condition = condition
        return audience
    }

    private static let now = ManualTime().now

    private static let cases: [(String, Condition, [Int])] = [
        ("topic", .topic("a"), [1, 2]), ("unknown topic", .topic("x"), []),
        ("not unknown topic", .not(.topic("x")), [1, 2, 3, 4, 5]),
        ("user", .user("anna"), [1, 2]), ("device", .device(Fixture.deviceID(3)), [3]),
        ("retired", .device(Fixture.deviceID(6)), []), ("platform", .platform(.android), [2]),
        ("locale", .locale("de"), [1, 2, 4]), ("subtag", .locale("de-at"), [1]),
        ("zone", .timeZone("Europe/Vienna"), [1, 3]), ("unknown zone", .timeZone("Europe/Paris"), []),
        ("attribute", .attribute("plan", [.init(.is, "pro")]), [1]),
        ("attribute missing", .attribute("plan", [.init(.exists, false)]), [3, 4, 5]),
        ("range", .attribute("age", [.init(.gte, 12), .init(.lt, 30)]), [4]),
        ("version", .appVersion([.init(.gte, "2.10")]), [1, 4]),
        ("version below", .appVersion([.init(.lt, "2.10")]), [2]),
        ("pre-release", .appVersion([.init(.gte, "3")]), []),
        ("seen", .seen(withinDays: 5), [1, 2, 3, 4]), ("seen long ago", .seen(withinDays: 11), [1, 2, 3, 4, 5]),
        ("not seen", .not(.seen(withinDays: 5)), [5]),
        ("registered", .registered(after: now + .seconds(86_400)), [1, 2, 3, 4]),
        ("and", .and([.locale("de"), .topic("a"), .platform(.ios)]), [1]),
        ("or", .or([.locale("en"), .topic("c"), .user("old")]), [3, 4, 5]),
        ("not", .not(.or([.topic("a"), .locale("fr")])), [3, 4]),
        ("nested", .and([.not(.and([.topic("a"), .attribute("plan", [.init(.is, "pro")])])), .topic("a")]), [2]),
        ("twice not", .not(.not(.topic("b"))), [1, 3]),
        ("all false", .and([.platform(.ios), .platform(.android)]), []),
        ("not of a constant", .not(.platform(.ios)), [2]),
        (
            "and of or",
            .and([.or([.topic("a"), .topic("b")]), .or([.locale("en"), .attribute("age", [.init(.is, 30)])])]), [1, 3]
        ),
        (
            "rows in several places",
            .or([
                .and([.topic("a"), .attribute("plan", [.init(.is, "pro")])]), .and([.topic("c"), .locale("de")]),
                .and([.not(.topic("b")), .locale("fr")]),
            ]), [1, 4, 5]
        ),
        (
            "rows in several places, of a set",
            .and([.topic("b"), .or([.and([.user("anna"), .locale("de")]), .locale("fr")])]), [1]
        ),
        (
            "a set in several places",
            .or([
                .and([.topic("a"), .user("anna")]), .and([.topic("a"), .topic("b")]),
                .not(.or([.topic("a"), .topic("b"), .topic("c")])),
            ]), [1, 2, 5]
        ),
        (
            "not of rows in several places",
            .not(
                .or([
                    .and([.topic("a"), .locale("de-at")]),
                    .and([.topic("c"), .attribute("age", [.init(.lt, 20)])]),
                ])), [2, 3, 5]
        ),
    ]

    @Test("a condition alone applies to all devices", arguments: StoreUnderTest.allCases)
    func alone(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        for (name, condition, expected) in Self.cases {
            #expect(try await reached(fixture, Self.audience(condition)) == expected, "\(name)")
        }
    }

    @Test("a condition narrows the lists of an audience", arguments: StoreUnderTest.allCases)
    func narrowing(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        var audience = Audience.topics("a", "c")
        audience.users = ["bert"]
        audience.condition = .locale("de")
        #expect(try await reached(fixture, audience) == [1, 2, 4])
        audience = .users("anna", "bert")
        audience.condition = .attribute("plan", [.init(.is, "free")])
        #expect(try await reached(fixture, audience) == [2])
        audience = .all
        audience.condition = .not(.locale("de"))
        audience.platforms = [.ios]
        audience.excludedTopics = ["b"]
        #expect(try await reached(fixture, audience) == [5])
        audience = Audience()
        audience.addresses = [Fixture.address(1), Fixture.address(77)]
        audience.condition = .topic("a")
        let (app, now, counted) = (fixture.app, fixture.now, audience)
        #expect(
            try await fixture.store.read { try $0.audienceCount(app: app, counted, environment: nil, now: now) }
                == [.ios: 1])
    }

    @Test(
        "a condition is evaluated when the slice is read, and ages count from planning",
        arguments: StoreUnderTest.allCases)
    func cutoff(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        let (id, _) = try await fixture.send(Self.audience(.and([.seen(withinDays: 5), .topic("a"), .platform(.ios)])))
        let (other, _) = try await fixture.send(Self.audience(.attribute("age", [.init(.gt, 20)])))
        fixture.time.advance(by: .seconds(86_400 * 6))
        try await fixture.register(Self.registration(7, topics: ["a"], attributes: [("age", 40)]))
        try await fixture.register(Self.registration(4, topics: ["a"], attributes: [("age", 21)]))
        var reached: [MessageID: [DeviceKey]] = [:]
        for slice in try await fixture.lease() {
            reached[slice.id.message, default: []] += try await Worker(fixture: fixture).run(slice)
        }
        // Device 1 has key 2; device 4, with key 5, is in the topic too late and has the attribute in time.
        #expect(reached == [id: [2], other: [2, 5]])
    }

    @Test("a named segment is resolved when the message is planned", arguments: StoreUnderTest.allCases)
    func segments(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        let (app, now) = (fixture.app, fixture.now)
        func put(_ name: String, _ condition: Condition) async throws -> Bool {
            try await fixture.store.write(.control) { store in
                try store.putSegment(
                    Segment(name: name, condition: condition, createdAt: now, changedAt: now), app: app
                ).isNew
            }
        }
        #expect(try await put("german", .locale("de")))
        #expect(try await put("both", .and([.segment("german"), .topic("a")])))
        #expect(try await reached(fixture, Self.audience(.segment("both"))) == [1, 2])
        let (planned, _) = try await fixture.send(Self.audience(.segment("german")))
        #expect(try await !put("german", .locale("fr")))
        _ = try await fixture.store.write(.control) { try $0.deleteSegment(app: app, name: "both") }
        #expect(
            try await fixture.store.read { try $0.plannedCondition(app: app, message: planned) } == .locale("de"))
        var sent: [DeviceKey] = []
        for route in [Route.apnsProduction, .fcm] { sent += try await Worker(fixture: fixture).run(route) }
        #expect(sent.count == 3)
        await #expect(throws: PealError.self) { try await fixture.send(Self.audience(.segment("both"))) }
        #expect(
            try await fixture.store.read { try $0.segments(app: app, after: nil, limit: 9).map(\.name) } == ["german"])
    }

    @Test("many devices are met exactly once, and the estimate is near", arguments: StoreUnderTest.allCases)
    func many(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        let now = fixture.now
        try await fixture.store.write(.control) { session in
            for number in 1...6000 {
                let registration = Self.registration(
                    number, topics: number % 3 == 0 ? ["threes"] : [], attributes: [("rest", .integer(number % 10))])
                _ = try session.register(registration, app: app, now: now)
            }
        }
        for (condition, expected) in [
            (Condition.attribute("rest", [.init(.is, 0)]), 600),
            (.and([.topic("threes"), .attribute("rest", [.init(.lt, 5)])]), 1000),
            (.or([.topic("threes"), .attribute("rest", [.init(.is, 0)])]), 2400),
            (.not(.topic("threes")), 4000),
        ] {
            let (_, plan) = try await fixture.send(Self.audience(condition))
            #expect(plan.state == .sending)
            let sent = try await Worker(fixture: fixture).run()
            #expect(sent.count == expected && Set(sent).count == expected)
            let estimate = try await fixture.store.read {
                try $0.audienceEstimate(app: app, Self.audience(condition), environment: nil, now: now)[.ios] ?? 0
            }
            #expect(abs(estimate - expected) < expected / 4, "\(condition): \(estimate)")
        }
    }

    @Test("a condition with thousands of values is looked up, not compared value by value")
    func manyValues() async throws {
        let fixture = try await Fixture(.sqlite)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.store.write(.control) { session in
            for number in 1...1000 {
                let registration = Self.registration(number, attributes: [("n", .integer(Int64(number)))])
                _ = try session.register(registration, app: app, now: now)
            }
        }
        let parts = (0..<10).map { part -> Condition in
            let values = (0..<Limits.conditionValuesMax).map { JSON.integer(999 + part * 1000 + $0) }
            return .attribute("n", [.init(.in, .array(values))])
        }
        let (_, plan) = try await fixture.send(Self.audience(.or(parts)))
        #expect(plan.audienceEstimate == 2)
        #expect(try await Worker(fixture: fixture).run().count == 2)
    }

    @Test("planning leaves a large condition on many named devices to the slices; a count does not")
    func namedDevices() async throws {
        let fixture = try await Fixture(.sqlite)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.store.write(.control) { session in
            for number in 1...300 {
                let registration = Self.registration(number, locale: number == 7 ? "de" : "en")
                _ = try session.register(registration, app: app, now: now)
            }
        }
        var audience = Audience()
        audience.devices = (1...300).map(Fixture.deviceID)
        audience.condition = .and(Array(repeating: .locale("de"), count: 700))
        let (id, plan) = try await fixture.send(audience)
        #expect(plan.audienceEstimate == 300)
        #expect(try await Worker(fixture: fixture).run() == [7])
        #expect(try await fixture.state(id) == .sent)
        let counted = audience
        #expect(
            try await fixture.store.read { try $0.audienceCount(app: app, counted, environment: nil, now: now) }
                == [.ios: 1])
    }

    @Test("constants are evaluated while planning, and tests of rows come together")
    func plans() async throws {
        let fixture = try await Fixture(.sqlite)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.register(1, topics: ["t"])
        func plan(_ condition: Condition) async throws -> ConditionPlan {
            try await fixture.store.write(.control) { store in
                let session = try #require(store as? StoreSession)
                return try ConditionPlanner(session: session, app: app, route: .apnsProduction, cutoff: now)
                    .plan(condition)
            }
        }
        let age = Condition.attribute("age", [.init(.gt, 1)])
        #expect(try await plan(.and([age, .platform(.android)])) == .rows(.always(false)))
        #expect(try await plan(.or([age, .platform(.ios)])) == .rows(.always(true)))
        #expect(
            try await plan(.and([age, .topic("t"), .not(.seen(withinDays: 1)), .platform(.ios)]))
                == .and([
                    .topic(1, isExcluded: false),
                    .rows(
                        .and([
                            .attribute("age", [.init(ofAttribute: .init(.gt, 1))]),
                            .not(.seen(since: now - .seconds(86_400))),
                        ])),
                ]))
        #expect(try await plan(.not(.not(.topic("t")))) == .not(.not(.topic(1, isExcluded: false))))
    }
}
