import PealCore
import Testing

@testable import PealProviders

@Suite("Untrusted hosts")
struct GuardedHostsTests {
    private let time = ManualTime()

    private func hosts(_ resolver: ScriptedResolver, countMax: Int = 8) -> GuardedHosts {
        GuardedHosts(resolver: resolver, addressGuard: AddressGuard(), time: time, countMax: countMax)
    }

    @Test("keep the address that was checked, and are looked up again after a minute")
    func rebinding() async throws {
        let resolver = ScriptedResolver(["93.184.216.34"], ["127.0.0.1"], ["93.184.216.35"])
        let hosts = hosts(resolver)
        let first = GuardedHosts.Finding.address(try #require(IPAddress("93.184.216.34")))
        #expect(await hosts.find("up.example.org", for: 1) == first)
        // The name now resolves to another address, but callers still get the checked one.
        #expect(await hosts.find("up.example.org", for: 1) == first)
        #expect(resolver.count == 1)
        time.advance(.seconds(60))
        #expect(await hosts.find("up.example.org", for: 1) == .privateAddress)
        time.advance(.seconds(60))
        #expect(await hosts.find("up.example.org", for: 1) == .address(try #require(IPAddress("93.184.216.35"))))
    }

    @Test("are refused for one bad address among many, and without any")
    func mixed() async {
        let mixed = hosts(ScriptedResolver(["93.184.216.34", "fe80::1"]))
        #expect(await mixed.find("a.example.org", for: 1) == .privateAddress)
        #expect(await hosts(ScriptedResolver([])).find("a.example.org", for: 1) == .noAddress)
    }

    @Test("are kept up to a number")
    func bound() async {
        let resolver = ScriptedResolver(["93.184.216.34"])
        let hosts = hosts(resolver, countMax: 4)
        for number in 0..<5 { _ = await hosts.find("h\(number).example.org", for: 1) }
        #expect(resolver.count == 5)
        _ = await hosts.find("h4.example.org", for: 1)
        #expect(resolver.count == 5)
        _ = await hosts.find("h0.example.org", for: 1)
        #expect(resolver.count == 6)
    }
}
