import PealCore
import PealNetwork
import Testing

@Suite("The system's resolver")
struct SystemResolverTests {
    private let resolver = SystemResolver(threadCount: 2)

    @Test("finds the local machine, each address once", arguments: ["localhost", "127.0.0.1"])
    func loopback(host: String) async {
        let addresses = await resolver.addresses(of: host)
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { AddressGuard.isLoopback($0.bytes) })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test("accepts addresses as names")
    func literal() async {
        #expect(await resolver.addresses(of: "10.1.2.3") == [IPAddress("10.1.2.3")])
        #expect(await resolver.addresses(of: "::1") == [IPAddress("::1")])
    }

    @Test("finds nothing for an unknown name")
    func unknown() async {
        #expect(await resolver.addresses(of: "no.such.host.invalid") == [])
    }

    @Test("looks up more names than it has threads")
    func many() async {
        let found = await withTaskGroup(of: [IPAddress].self) { group in
            for number in 1...20 { group.addTask { await resolver.addresses(of: "10.0.0.\(number)") } }
            return await group.reduce(into: Set<IPAddress>()) { $0.formUnion($1) }
        }
        #expect(found.count == 20)
    }
}
