import PealCore
@testable import PealDelivery
import PealStore
import PealTesting
import Testing

extension RulesTests {
    /// Sends to `count` devices and returns how many had been sent to after each second.
    private func sentBySecond(
        _ engine: StoreUnderTest, count: Int, rules: JSON.Members = .init(), rate: Int64? = nil, messages: Int = 1
    ) async throws -> [Int] {
        let fixture = try await Self.open(engine, rules, zones: Array(repeating: nil, count: count))
        var options = MessageOptions()
        options.ratePerSecond = rate
        let service = fixture.service()
        let draft = { fixture.draft(.all, options: options) }
        var sent: [Int] = []
        try await fixture.running(service) {
            var ids: [MessageID] = []
            for _ in 0..<messages { ids.append(try await fixture.accept(draft(), engine: service)) }
            let start = fixture.now
            try await fixture.drive(by: .milliseconds(20), isWorkUnderWay: true) {
                let total = ids.reduce(0) { $0 + fixture.provider.sentCount($1) }
                while Int64(sent.count) * 1000 <= (fixture.now - start).milliseconds { sent.append(total) }
                return total == count * messages
            }
            for id in ids { try await fixture.drive { try await fixture.state(id) == .sent } }
        }
        return sent
    }

    @Test("a rate holds in every second", arguments: StoreUnderTest.allCases)
    func rate(_ engine: StoreUnderTest) async throws {
        let sent = try await sentBySecond(engine, count: 1000, rate: 100)
        for (second, count) in sent.enumerated() { #expect(count <= 100 * second + 40, "\(second): \(count)") }
        #expect(sent.count >= 10)
        #expect(sent.count <= 25, "\(sent)")
    }

    @Test("an app's rate is one for all of its messages", arguments: StoreUnderTest.allCases)
    func rateOfApp(_ engine: StoreUnderTest) async throws {
        let sent = try await sentBySecond(
            engine, count: 200, rules: .init([("rate_per_second", 50)]), messages: 3)
        for (second, count) in sent.enumerated() { #expect(count <= 50 * second + 20, "\(second): \(count)") }
        #expect(sent.count <= 30, "\(sent)")
    }

    @Test("messages with a rate leave workers for others")
    func workers() {
        let board = RateBoard()
        let (app, message) = (RateBoard.Key.app(1), RateBoard.Key.message(MessageID(high: 1, low: 2)))
        #expect(board.enter([app, message]) && board.enter([app, message]))
        #expect(!board.enter([app, message]) && !board.enter([message]))
        // The app's other messages have two more; what was refused took nothing.
        #expect(board.enter([app]) && board.enter([app]))
        #expect(!board.enter([app]))
        #expect(board.enter([.app(2)]) && board.enter([]))
        board.leave([app, message])
        #expect(board.enter([message]) && !board.enter([message]))
        #expect(board.enter([app]) && !board.enter([app]))
    }

    @Test("an app's rate changes while its messages are being sent", arguments: StoreUnderTest.allCases)
    func changedRateOfApp(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("rate_per_second", 10)]), zones: Array(repeating: nil, count: 600))
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                fixture.provider.sentCount(id) >= 20
            }
            let early = fixture.now
            #expect(early - ManualTime().now >= .seconds(1))
            try await fixture.set(.init([("rate_per_second", 10_000)]))
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            // At the former rate it would take a minute.
            #expect(fixture.now - early < .seconds(20))
            #expect(try await fixture.counts(id).accepted == 600)
        }
    }

    @Test("a device that unsubscribes during a slow send is left out", arguments: StoreUnderTest.allCases)
    func unsubscribed(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, .init(), zones: Array(repeating: nil, count: 100))
        var audience = Audience()
        audience.topics = ["news"]
        var options = MessageOptions()
        options.ratePerSecond = 5
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(audience, options: options), engine: service)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                fixture.provider.sentCount(id) >= 10
            }
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                for key in DeviceKey(51)...100 {
                    try $0.changeTopics(app: app, device: key, add: [], remove: ["news"], now: now)
                }
            }
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            #expect(fixture.provider.sent(id).keys.sorted() == Array(1...50))
            #expect(try await fixture.counts(id).accepted == 50)
            #expect(try await fixture.counts(id).pending == 0)
        }
    }

    @Test("every device has an outcome although a slow message expires", arguments: StoreUnderTest.allCases)
    func expired(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, .init(), zones: Array(repeating: nil, count: 100))
        var options = MessageOptions()
        options.ratePerSecond = 10
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = fixture.draft(.all, options: options, lifeSeconds: 5)
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                try await fixture.state(id).map(\.isFinal) ?? false
            }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted > 10 && counts.expired > 10, "\(counts)")
            #expect(counts.accepted + counts.expired == 100 && counts.pending == 0, "\(counts)")
        }
    }

    @Test("a rate changes while the message is being sent", arguments: StoreUnderTest.allCases)
    func changedRate(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, .init(), zones: Array(repeating: nil, count: 600))
        var options = MessageOptions()
        options.ratePerSecond = 10
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = fixture.draft(.all, options: options)
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                fixture.provider.sentCount(id) >= 20
            }
            let early = fixture.now
            #expect(early - ManualTime().now >= .seconds(1))
            try await fixture.store.write(.control) { [app = fixture.app] in
                try $0.setRate(nil, app: app, message: id)
            }
            service.interrupt(id)
            try await fixture.drive(by: .milliseconds(50), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            #expect(fixture.now - early < .seconds(20))
            #expect(try await fixture.counts(id).accepted == 600)
        }
    }
}
