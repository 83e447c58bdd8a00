import PealCore
@testable import PealNetwork
import Testing

@Suite("The system's resolver")
struct SystemResolverTests {
    private let resolver = SystemResolver(threadCount: 2)

    @Test("finds the local machine, each address once", arguments: ["localhost", "127.0.0.1"])
    func loopback(host: String) async {
        let addresses = await resolver.addresses(of: host, for: 1)
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { AddressGuard.isLoopback($0.bytes) })
        #expect(Set(addresses).count == addresses.count)
    }

    @Test("accepts addresses as names")
    func literal() async {
        #expect(await resolver.addresses(of: "10.1.2.3", for: 1) == [IPAddress("10.1.2.3")])
        #expect(await resolver.addresses(of: "::1", for: 1) == [IPAddress("::1")])
    }

    @Test("finds nothing for an unknown name")
    func unknown() async {
        #expect(await resolver.addresses(of: "no.such.host.invalid", for: 1) == [])
    }

    @Test("looks up more names than it has threads")
    func many() async {
        let found = await withTaskGroup(of: [IPAddress].self) { group in
            for number in 1...20 { group.addTask { await resolver.addresses(of: "10.0.0.\(number)", for: 1) } }
            return await group.reduce(into: Set<IPAddress>()) { $0.formUnion($1) }
        }
        #expect(found.count == 20)
    }
}

@Suite("Turns of lookups")
struct LookupTurnsTests {
    @Test("an app with many names leaves half of the threads to others")
    func share() {
        var turns = LookupTurns<Int>(countMax: 4)
        #expect(begin(&turns, 1...10, of: 1) == [1, 2])
        #expect(begin(&turns, 11...11, of: 2) == [11])
        #expect(begin(&turns, 12...12, of: 3) == [12])
        #expect(end(&turns, of: [2, 1, 1]) == [nil, 3, 4])
    }

    @Test("apps whose names wait take turns")
    func turnTaking() {
        var turns = LookupTurns<Int>(countMax: 4)
        #expect(begin(&turns, 1...2, of: 1) == [1, 2])
        #expect(begin(&turns, 3...4, of: 2) == [3, 4])
        #expect(begin(&turns, 5...8, of: 3) == [])
        #expect(begin(&turns, 9...10, of: 4) == [])
        #expect(end(&turns, of: [1, 1, 2, 2, 3, 4, 3, 4, 3]) == [5, 9, 6, 10, 7, nil, 8, nil, nil])
        #expect(begin(&turns, 11...12, of: 3) == [11])
    }

    @Test("a single thread serves one name after another")
    func single() {
        var turns = LookupTurns<Int>(countMax: 1)
        #expect(begin(&turns, 1...2, of: 1) == [1])
        #expect(begin(&turns, 3...3, of: 2) == [])
        #expect(end(&turns, of: [1, 1, 2]) == [2, 3, nil])
    }

    /// Begins lookups. Returns those that need not wait.
    private func begin(_ turns: inout LookupTurns<Int>, _ numbers: ClosedRange<Int>, of app: AppKey) -> [Int] {
        numbers.filter { turns.begin($0, of: app) }
    }

    /// Ends a lookup of each app. Returns what begins instead.
    private func end(_ turns: inout LookupTurns<Int>, of apps: [AppKey]) -> [Int?] {
        apps.map { turns.end(of: $0) }
    }
}
