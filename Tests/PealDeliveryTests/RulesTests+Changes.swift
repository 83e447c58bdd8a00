import Logging
import PealCore
@testable import PealDelivery
import PealStore
import PealTesting
import Testing

extension RulesTests {
    private static let night: JSON = ["from": "22:00", "to": "07:00"]

    @Test(
        "devices that wait for the end of quiet hours follow changed hours within seconds",
        arguments: StoreUnderTest.allCases)
    func changedQuietHours(_ engine: StoreUnderTest) async throws {
        // At midnight UTC it is 19:00 in New York, and night for the others.
        let fixture = try await Self.open(
            engine, .init([("quiet_hours", Self.night)]), zones: [nil, "Europe/Vienna", "America/New_York"])
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            let usual = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            // 03:00: 02:00 UTC in Vienna, 08:00 UTC in New York.
            let timed = try await fixture.accept(
                fixture.draft(recipientsTime: start + .seconds(3 * 3600)), engine: service)
            try await fixture.drive { fixture.provider.sentCount(usual) == 1 }
            try await fixture.drive {
                try await fixture.lastEvent(timed, 1) == "held QuietHours, until 2026-11-21T07:00:00Z"
            }
            try await fixture.change(.init([("quiet_hours", .null)]), by: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(usual) == .sent }
            try await fixture.drive(by: .seconds(1)) {
                try await fixture.lastEvent(timed, 1) == "held RecipientTimeZone, until 2026-11-21T03:00:00Z"
            }
            #expect(fixture.now - start < .seconds(60))
            #expect(fixture.provider.sentCount(timed) == 0, "its time has not come")
            try await fixture.drive(by: .seconds(60)) { fixture.provider.sentCount(timed) == 2 }
            #expect(fixture.now - start >= .seconds(3 * 3600) && fixture.now - start < .seconds(4 * 3600))
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(timed) == .sent }
            #expect(fixture.now - start >= .seconds(8 * 3600) && fixture.now - start < .seconds(9 * 3600))
            for id in [usual, timed] {
                #expect(try await fixture.counts(id).accepted == 3)
                #expect(fixture.provider.repeatCount(id) == 0)
            }
        }
    }

    @Test(
        "devices of a paused message, and those that were tried before, follow changed quiet hours too",
        arguments: StoreUnderTest.allCases)
    func changedForRetries(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("quiet_hours", ["from": "00:01", "to": "07:00"])]), zones: [nil, nil])
        // The retry of the first device begins after half a minute, and its second one in quiet hours.
        fixture.provider.answers {
            $0.key == 1 && $0.earlier < 2 ? .verdict(.retry(after: nil), "InternalServerError") : .accepted
        }
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            let draft = fixture.draft(.devices(1...2), lifeSeconds: 86_400)
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.drive(by: .seconds(1)) {
                try await fixture.lastEvent(id, 1) == "held QuietHours, until 2026-11-21T07:00:00Z"
            }
            #expect(fixture.provider.sent(id) == [1: 2, 2: 1])
            #expect(try await fixture.census().oldestPendingAt == nil, "it is not late")
            try await fixture.move(id, from: [.sending], to: .paused)
            try await fixture.change(.init([("quiet_hours", .null)]), by: service)
            try await fixture.pass(seconds: 10)
            #expect(fixture.provider.sent(id) == [1: 2, 2: 1], "it is paused")
            try await fixture.move(id, from: [.paused], to: .sending)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(fixture.now - start < .seconds(3600))
            #expect(try await fixture.counts(id).accepted == 2)
        }
    }

    @Test("devices that wait for a frequency cap follow a looser one", arguments: StoreUnderTest.allCases)
    func changedCap(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("frequency_cap", ["messages": 1, "hours": 24])]), zones: [nil, nil])
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            for number in 1...3 {
                let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
                if number == 1 { try await fixture.ended(id) }
                if number > 1 {
                    try await fixture.drive { try await fixture.lastEvent(id, 2)?.hasPrefix("held Freq") ?? false }
                }
            }
            try await fixture.change(
                .init([("frequency_cap", ["messages": 2, "hours": 24])]), by: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.census().messagesUnfinished == 1 }
            #expect(fixture.now - start < .seconds(60), "one of the waiting messages is sent")
            try await fixture.change(.init([("frequency_cap", .null)]), by: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.census().messagesUnfinished == 0 }
            #expect(fixture.now - start < .seconds(120))
        }
    }

    @Test("devices that wait again after a change do not use up a rate", arguments: StoreUnderTest.allCases)
    func changedUnderRate(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("quiet_hours", Self.night), ("rate_per_second", 1)]),
            zones: Array(repeating: nil, count: 200))
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            func held(until time: String) async throws {
                try await fixture.drive(by: .milliseconds(250)) {
                    try await fixture.lastEvent(id, 200) == "held QuietHours, until 2026-11-21T\(time):00Z"
                }
            }
            try await held(until: "07:00")
            try await fixture.change(.init([("quiet_hours", ["from": "22:00", "to": "08:00"])]), by: service)
            try await held(until: "08:00")
            // One by one, it would take more than three minutes.
            #expect(fixture.now - start < .seconds(60))
            #expect(fixture.provider.sentCount(id) == 0)
        }
    }

    @Test("devices that a frequency cap holds back do not use up a rate", arguments: StoreUnderTest.allCases)
    func capUnderRate(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("frequency_cap", ["messages": 1, "hours": 24])]), zones: Array(repeating: nil, count: 200))
        let service = fixture.service()
        try await fixture.running(service) {
            let first = try await fixture.accept(
                fixture.draft(.devices(1...120), lifeSeconds: 86_400), engine: service)
            try await fixture.ended(first)
            let start = fixture.now
            var options = MessageOptions()
            options.ratePerSecond = 4
            let second = try await fixture.accept(
                fixture.draft(.all, options: options, lifeSeconds: 2 * 86_400), engine: service)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                fixture.provider.sentCount(second) >= 80
            }
            // If the waiting ones used up the rate, it would take 50 s.
            #expect(fixture.now - start >= .seconds(15) && fixture.now - start < .seconds(48))
            try await fixture.drive {
                try await fixture.lastEvent(second, 1)?.hasPrefix("held FrequencyCap, until") ?? false
            }
            #expect(fixture.provider.sentCount(second) == 80)
            try await fixture.drive(by: .seconds(3600)) { fixture.provider.sentCount(second) > 80 }
            #expect(fixture.now - start >= .seconds(86_000))
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(second) == .sent }
        }
    }

    @Test(
        "devices whose quiet hours begin while a message is being sent do not use up its rate",
        arguments: StoreUnderTest.allCases)
    func quietHoursUnderRate(_ engine: StoreUnderTest) async throws {
        // At midnight UTC it is 9:00 in Tokyo.
        let zones: [String?] = Array(repeating: nil, count: 400) + Array(repeating: "Asia/Tokyo", count: 20)
        let fixture = try await Self.open(
            engine, .init([("quiet_hours", ["from": "00:01", "to": "07:00"])]), zones: zones)
        let service = fixture.service()
        try await fixture.running(service) {
            var options = MessageOptions()
            options.ratePerSecond = 2
            let id = try await fixture.accept(
                fixture.draft(.all, options: options, lifeSeconds: 86_400), engine: service)
            try await fixture.drive(by: .milliseconds(250), isWorkUnderWay: true) {
                fixture.provider.sent(id).keys.count { $0 > 400 } == 20
            }
            #expect(fixture.provider.sentCount(id) < 400)
            #expect(try await fixture.census().slicesWaiting < 10, "one list of many, not one for each page")
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    @Test("a slice that must wait because of a rate is not read")
    func waitingUnderRate() async throws {
        struct Unread: PageGate {
            func needs(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateNeeds {
                GateNeeds(people: true, sorting: true)
            }

            func rates(of job: DeliveryJob, in slice: Slice.ID) async throws -> GateRates { GateRates(ofApp: 1) }

            func rule(
                on page: DevicePage, of job: DeliveryJob, in slice: Slice.ID, isSorting: Bool, at now: Timestamp
            ) async throws -> [PageRuling] {
                Issue.record("a page was read")
                return []
            }
        }
        let fixture = try await Self.open(.sqlite, .init(), zones: [nil])
        var options = DeliveryOptions()
        options.gate = Unread()
        let context = DeliveryContext(
            store: fixture.store, providers: [.apns: fixture.provider], time: fixture.time,
            randomness: fixture.randomness, logger: Logger(label: "test"), options: options)
        try await fixture.accept(fixture.draft(.all))
        let leased = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.lease(
                ActiveRoute(app: app, route: .apnsProduction), limit: 1, owner: context.owner,
                until: now + .seconds(30), now: now)
        }
        let slice = try #require(leased.first)
        context.leases.add(slice.lease, askedAt: fixture.time.uptime)
        while context.rates.enter([.app(fixture.app)]) {}
        let settling = Task { await context.settler.run() }
        await SliceWorker(context: context).work(slice)
        context.settler.close()
        await settling.value
        #expect(try await fixture.census().slicesWaiting == 1)
    }
}

@Suite("Changes of rules")
struct RuleChangeTests {
    private static func rules(_ text: String) throws -> SendRules {
        var settings = AppSettings()
        settings.replaceRules(try #require(try JSONParser.parse(Array(text.utf8)).objectValue))
        return settings.rules
    }

    private static let quiet = #""quiet_hours": {"from": "22:00", "to": "07:00"}"#
    private static let cap = #""frequency_cap": {"messages": 2, "hours": 24}"#

    @Test(
        "only some may end waits",
        arguments: [
            ("{}", "{}", false), ("{\(quiet)}", "{}", true), ("{}", "{\(quiet)}", false),
            ("{\(quiet)}", #"{"quiet_hours": {"from": "22:00", "to": "08:00"}}"#, true),
            ("{\(quiet), \(cap)}", #"{\#(quiet), \#(cap), "rate_per_second": 5}"#, false),
            ("{\(cap)}", "{}", true), ("{}", "{\(cap)}", false),
            ("{\(cap)}", #"{"frequency_cap": {"messages": 3, "hours": 48}}"#, true),
            ("{\(cap)}", #"{"frequency_cap": {"messages": 1, "hours": 12}}"#, true),
            ("{\(cap)}", #"{"frequency_cap": {"messages": 1, "hours": 24}}"#, false),
            ("{}", #"{"default_time_zone": "Asia/Tokyo"}"#, true),
        ])
    func mayEndWaits(_ former: String, _ now: String, _ may: Bool) throws {
        #expect(try Self.rules(now).mayEndWaits(under: try Self.rules(former)) == may)
    }
}

extension DeliveryFixture {
    /// Changes the app's rules as the API does.
    func change(_ rules: JSON.Members, by engine: any DeliveryEngine) async throws {
        _ = try await AppVerbs(store: store, engine: engine).change(app, VerbCall(actor: "test", now: now)) {
            $0.settings.replaceRules(rules)
        }
    }
}
