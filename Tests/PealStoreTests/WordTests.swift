import PealCore
@testable import PealStore
import PealTesting
import Testing

@Suite("Locales and time zones of devices")
struct WordTests {
    @Test("are limited, because phones choose them and all apps share them", arguments: StoreUnderTest.allCases)
    func limited(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.test.engine.write(.control) { connection in
            _ = try connection.execute(
                """
                INSERT INTO word (number, kind, name)
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Limits.wordsMax - 1))
                SELECT i + 1000000, \(WordTable.Kind.locale), 'x' || i FROM n
                """)
        }
        let app = fixture.app
        let numbers = try await fixture.store.write(.control) { store in
            let session = try #require(store as? StoreSession)
            return [
                try session.number(of: "de", .locale, app: app), try session.number(of: "fr", .locale, app: app),
                try session.number(of: "de", .locale, app: app),
                try session.number(of: "Europe/Vienna", .timeZone, app: app),
            ]
        }
        #expect(numbers[0] != WordTable.none && numbers[1] == WordTable.none && numbers[2] == numbers[0])
        #expect(numbers[3] != WordTable.none)
    }

    @Test("of one app's phones leave room for those of others")
    func shares() async throws {
        let fixture = try await Fixture(.sqlite)
        let (app, other) = (fixture.app, try await fixture.test.makeApp("Other", randomness: .init(seed: 9)).key)
        let (own, late, others) = try await fixture.store.write(.control) { store in
            let session = try #require(store as? StoreSession)
            let numbers = try (0...Limits.wordsPerAppMax).map { try session.number(of: "x\($0)", .timeZone, app: app) }
            return (
                numbers, try session.number(of: "x0", .timeZone, app: app),
                try session.number(of: "Europe/Vienna", .timeZone, app: other)
            )
        }
        #expect(own.dropLast().allSatisfy { $0 != WordTable.none } && own.last == WordTable.none)
        #expect(late == own[0] && others != WordTable.none)
    }

    @Test("are found by a language range as its comparison says")
    func ranges() {
        let locales = ["de", "DE", "de-AT", "de_at", "den", "de-", "-", "d", "en-x-1", "zh-Hant-TW", "zh_hant", "e"]
        var index = LocaleIndex(locales.enumerated().map { (name: $1, number: Int64($0)) })
        for range in locales + ["de-a", "zh", "x"] {
            let expected = locales.indices.filter { Condition.locale(locales[$0], isIn: range) }.map(Int64.init)
            let found = index.numbers(in: range)
            #expect(found == Set(expected), "\(range)")
        }
        var empty = LocaleIndex([])
        let none = empty.numbers(in: "de")
        #expect(none.isEmpty)
    }
}
