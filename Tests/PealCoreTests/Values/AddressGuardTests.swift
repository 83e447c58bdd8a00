import PealCore
import Testing

@Suite("AddressGuard") struct AddressGuardTests {
    private let addressGuard = AddressGuard()

    private func permits(_ text: String) throws -> Bool { addressGuard.permits(try #require(IPAddress(text))) }

    @Test(
        "allows public addresses",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
            "2000::", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001::5", "3ffe::1",
            "3fff:1000::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        ])
    func permitted(text: String) throws {
        #expect(try permits(text))
    }

    @Test(
        "refuses addresses that are not public",
        arguments: [
            // This host, private networks, carrier-grade NAT, loopback, link-local.
            "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
            "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.168.0.0",
            "192.168.255.255",
            // Protocol assignments, documentation, 6to4 relays, benchmarking, multicast, reserved, broadcast.
            "192.0.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.9", "192.88.99.1", "198.18.0.0", "198.19.255.255",
            "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
            // Unspecified, loopback, IPv4-compatible, local NAT64, discard, ULA, link-local, site-local, multicast.
            "::", "::1", "::8.8.8.8", "::7f00:1", "64:ff9b:1::1", "100::1", "fc00::1", "fd12:3456:789a::1", "fe80::1",
            "febf::1", "fec0::1", "ff02::1", "ff0e::1",
            // Teredo, benchmarking, ORCHID, documentation, segment routing, not assigned.
            "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "3fff::1", "3fff:fff::1", "5f00::1",
            "4000::1", "e000::1",
            // IPv4 inside: mapped, NAT64, 6to4.
            "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1", "64:ff9b::192.168.1.1", "2002:a00:1::", "2002:7f00:1::1", "2002:c0a8:101::1",
        ])
    func refused(text: String) throws {
        #expect(try !permits(text))
    }

    @Test("recognizes loopback and invalid addresses")
    func loopback() {
        #expect(AddressGuard.isLoopback([127, 9, 9, 9]))
        #expect(AddressGuard.isLoopback([UInt8](repeating: 0, count: 15) + [1]))
        #expect(!AddressGuard.isLoopback([128, 0, 0, 1]))
        #expect(!AddressGuard.isLoopback([UInt8](repeating: 0, count: 16)))
        #expect(!AddressGuard.isPublic([8, 8, 8]))
    }

    @Test("permits what the configuration lists")
    func exceptions() throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        let lenient = AddressGuard(permitting: [loopback])
        #expect(lenient.permits(loopback))
        #expect(lenient.permits(try #require(IPAddress("127.0.0.2"))) == false)
    }
}
