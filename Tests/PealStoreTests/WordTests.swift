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
        let numbers = try await fixture.store.write(.control) { store in
            let session = try #require(store as? StoreSession)
            return [
                try session.number(of: "de", .locale), try session.number(of: "fr", .locale),
                try session.number(of: "de", .locale), try session.number(of: "Europe/Vienna", .timeZone),
            ]
        }
        #expect(numbers[0] != WordTable.none && numbers[1] == WordTable.none && numbers[2] == numbers[0])
        #expect(numbers[3] != WordTable.none)
    }
}
