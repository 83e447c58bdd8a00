import PealCore
import PealNetwork
import PealTesting
import Testing

@Suite("Clients of checked addresses")
struct ClientCacheTests {
    private typealias Pin = ClientCache<String>.Pin

    private let time = ManualTime()
    private let cache: ClientCache<String>

    init() { cache = ClientCache(time: time) { $0.host == "none" ? nil : "\($0.host) at \($0.address)" } }

    private func pin(_ host: String, _ number: UInt8 = 1) throws -> Pin {
        Pin(host: host, address: try #require(IPAddress(bytes: [10, 0, 0, number])))
    }

    private func use(_ pin: Pin) async -> String? { await cache.withClient(pin) { $0 } }

    @Test("exist once for each host and address")
    func pins() async throws {
        #expect(await use(try pin("a")) == "a at 10.0.0.1")
        #expect(await use(try pin("a")) == "a at 10.0.0.1")
        #expect(cache.count == 1)
        #expect(await use(try pin("a", 2)) == "a at 10.0.0.2")
        #expect(await use(try pin("b")) == "b at 10.0.0.1")
        #expect(cache.count == 3)
        #expect(try pin("a", 2).override == ["a": "10.0.0.2"])
    }

    @Test("are absent if they cannot be created")
    func none() async throws {
        #expect(await use(try pin("none")) == nil)
        #expect(cache.count == 0)
    }

    @Test("are removed when idle for long enough, and never while in use")
    func idle() async throws {
        _ = await use(try pin("a"))
        time.advance(by: .seconds(60))
        _ = await use(try pin("b"))
        await cache.withClient(try pin("c")) { _ in
            time.advance(by: .seconds(59))
            #expect(cache.takeIdle(for: .seconds(60)) == ["a at 10.0.0.1"])
            time.advance(by: .seconds(1))
            #expect(cache.takeIdle(for: .seconds(60)) == ["b at 10.0.0.1"])
            #expect(cache.takeIdle(for: .zero) == [])
        }
        #expect(cache.takeIdle(for: .seconds(60)) == [], "it was in use just now")
        #expect(cache.takeIdle(for: .zero) == ["c at 10.0.0.1"])
        #expect(cache.count == 0)
    }

    @Test("are removed beyond a maximum count, longest idle first")
    func excess() async throws {
        for host in ["a", "b", "c"] {
            _ = await use(try pin(host))
            time.advance(by: .seconds(1))
        }
        #expect(cache.takeIdle(for: .seconds(60), countMax: 2) == ["a at 10.0.0.1"])
        #expect(cache.takeIdle(for: .seconds(60), countMax: 2) == [])
    }

    @Test("are all returned at the end, in use or not")
    func end() async throws {
        _ = await use(try pin("a"))
        await cache.withClient(try pin("b")) { _ in
            #expect(Set(cache.takeAll()) == ["a at 10.0.0.1", "b at 10.0.0.1"])
        }
        #expect(cache.count == 0)
    }
}
