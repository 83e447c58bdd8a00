import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealProviders

/// Several servers on one database.
@Suite("Limits that servers share")
struct SharedTokensTests {
    private let time = PealTesting.ManualTime()

    private func servers(_ count: Int, on store: any Store) throws -> [ProviderTokens] {
        try (0..<count).map { number in
            try ProviderTokenTable(time: time, randomness: SeededRandomness(UInt64(number)), store: store)
                .tokens(for: testCredential)
        }
    }

    @Test("three servers use one provider token, and replace it together", arguments: StoreUnderTest.allCases)
    func oneToken(_ engine: StoreUnderTest) async throws {
        let test = try await engine.open()
        let servers = try servers(3, on: test.store)
        for server in servers { await server.ready() }
        var used = Set(servers.compactMap { $0.authorization?.value })
        #expect(used.count == 1)
        for _ in 0..<(4 * 60) {
            time.advance(by: .seconds(60))
            for server in servers {
                if let value = server.authorization?.value { used.insert(value) }
                try await Polling.wait(for: "the agreement") { !server.isAgreeing }
            }
        }
        // The first one, and one for every 40 minutes or more of four hours.
        #expect((5...7).contains(used.count), "\(used.count) tokens")
        #expect(Set(servers.compactMap { $0.authorization?.value }).count == 1)
    }

    @Test(
        "a server that starts later uses the others' token for as long as they do", arguments: StoreUnderTest.allCases)
    func lateServer(_ engine: StoreUnderTest) async throws {
        let test = try await engine.open()
        let first = try servers(1, on: test.store)[0]
        await first.ready()
        time.advance(by: .seconds(39 * 60))
        let second = try servers(1, on: test.store)[0]
        await second.ready()
        #expect(second.authorization?.value == first.authorization?.value)
        time.advance(by: .seconds(22 * 60))
        let value = first.authorization?.value
        await second.ready()
        #expect(second.authorization?.value != value, "no token is used for longer than an hour")
    }

    @Test("servers return to their token when the clock jumped and is set back", arguments: StoreUnderTest.allCases)
    func returned(_ engine: StoreUnderTest) async throws {
        let test = try await engine.open()
        let servers = try servers(2, on: test.store)
        func values() async -> Set<[UInt8]> {
            for server in servers { await server.ready() }
            return Set(servers.compactMap { $0.authorization?.value })
        }
        let first = await values()
        #expect(first.count == 1)
        time.setClock(by: .seconds(365 * 86_400))
        let ahead = await values()
        #expect(ahead.count == 1 && ahead != first)
        time.setClock(by: .seconds(-365 * 86_400))
        #expect(await values() == first)
    }

    /// A store whose writes take a while.
    private struct SlowStore: WrappingStore {
        let store: any Store
        let time: PealTesting.ManualTime
        let delay: Duration

        func write<R: Sendable>(
            _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
        ) async throws -> R {
            try await time.sleep(for: delay)
            return try await store.write(lane, body)
        }
    }

    @Test("an agreement that comes late changes nothing", arguments: [false, true])
    func slowStore(hasOther: Bool) async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let server = try servers(1, on: SlowStore(store: test.store, time: time, delay: .seconds(5)))[0]
        async let ready: Void = server.ready()
        await time.sleepers(2)
        time.advance(by: .seconds(3))
        await ready
        let first = try #require(server.authorization)
        // Another server's offer may reach the store first.
        if hasOther { await (try servers(2, on: test.store)[1]).ready() }
        time.advance(by: .seconds(2))
        try await Polling.wait(for: "the agreement") { !server.isAgreeing }
        #expect(server.authorization == first, "APNs accepts another only after twenty minutes")
    }

    @Test("a server whose store does not answer signs for itself")
    func withoutStore() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let server = try servers(1, on: test.store)[0]
        try test.close()
        await server.ready()
        #expect(server.authorization != nil)
    }

    @Test("a pace is divided by the servers that share it")
    func pace() {
        func count(servers: Int) -> Int {
            let pace = Pace(.init(start: 600, most: 600))
            pace.share(among: servers)
            var (uptime, count) = (Duration.zero, 0)
            for _ in 0..<1000 {
                let requests = pace.allowance(at: uptime).requests
                pace.spend(requests, at: uptime)
                count += requests
                uptime += .milliseconds(10)
            }
            return count
        }
        #expect((6000...6100).contains(count(servers: 1)))
        #expect((1990...2040).contains(count(servers: 3)))
    }
}
