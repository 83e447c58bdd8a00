import PealCore
import Testing

@Suite("addresses of the public internet")
struct AddressGuardTests {
    @Test(
        "an address that is no public IPv4 host is refused",
        arguments: [
            [0, 0, 0, 0], [0, 1, 2, 3], [10, 0, 0, 1], [10, 255, 255, 255], [100, 64, 0, 1], [100, 127, 255, 255],
            [127, 0, 0, 1], [127, 255, 0, 1], [169, 254, 169, 254], [172, 16, 0, 1], [172, 31, 255, 255],
            [192, 0, 0, 8], [192, 0, 2, 1], [192, 88, 99, 1], [192, 168, 1, 1], [198, 18, 0, 1], [198, 19, 255, 255],
            [198, 51, 100, 7], [203, 0, 113, 7], [224, 0, 0, 1], [239, 255, 255, 255], [240, 0, 0, 1],
            [255, 255, 255, 255],
        ] as [[UInt8]])
    func special4(_ bytes: [UInt8]) { #expect(!AddressGuard.isPublic(bytes)) }

    @Test(
        "the neighbours of special IPv4 blocks are public",
        arguments: [
            [1, 1, 1, 1], [9, 255, 255, 255], [11, 0, 0, 1], [100, 63, 255, 255], [100, 128, 0, 1], [126, 0, 0, 1],
            [128, 0, 0, 1], [169, 253, 0, 1], [169, 255, 0, 1], [172, 15, 255, 255], [172, 32, 0, 1], [192, 0, 1, 1],
            [192, 0, 3, 1], [192, 88, 98, 1], [192, 167, 1, 1], [192, 169, 1, 1], [198, 17, 0, 1], [198, 20, 0, 1],
            [198, 51, 99, 1], [198, 51, 101, 1], [203, 0, 112, 1], [203, 0, 114, 1], [223, 255, 255, 255],
        ] as [[UInt8]])
    func public4(_ bytes: [UInt8]) { #expect(AddressGuard.isPublic(bytes)) }

    @Test(
        "an address that is no public IPv6 host is refused",
        arguments: [
            "00000000000000000000000000000000", "00000000000000000000000000000001",  // unspecified, loopback
            "0000000000000000000000007f000001", "00000000000000000000ffff08080808",  // compatible, mapped
            "0064ff9b00000000000000000a000001", "0064ff9b0001000000000000 08080808",  // NAT64: of a private host, local
            "01000000000000000000000000000001", "20010000000000000000000000000001",  // discard, Teredo
            "20010002000000000000000000000001", "20010010000000000000000000000001",  // benchmarks, ORCHID
            "20010020000000000000000000000001", "200101ff000000000000000000000001",
            "20010db8000000000000000000000001", "20020808080800000000000000000001",  // documentation, 6to4
            "3ffe0000000000000000000000000001", "3fff0fff000000000000000000000001",
            "5f000000000000000000000000000001", "fc000000000000000000000000000001",  // segment routing, unique local
            "fd00ec2000000000000000000000 0254", "fe800000000000000000000000000001",
            "fec00000000000000000000000000001", "ff020000000000000000000000000001",
            "40000000000000000000000000000001",
        ])
    func special6(_ digits: String) throws {
        let bytes = try #require(Hex.decode(digits.filter { $0 != " " }))
        #expect(bytes.count == 16)
        #expect(!AddressGuard.isPublic(bytes))
    }

    @Test(
        "global unicast and NAT64 of a public host are public",
        arguments: [
            "2001020000000000000000000000 0001", "2606470047000000000000000000 1111",
            "2a00145040010800000000000000200e",
            "20010db7000000000000000000000001", "20010db9000000000000000000000001", "3fff1000000000000000000000000001",
            "0064ff9b000000000000000001010101",
        ])
    func public6(_ digits: String) throws {
        let bytes = try #require(Hex.decode(digits.filter { $0 != " " }))
        #expect(bytes.count == 16)
        #expect(AddressGuard.isPublic(bytes))
    }

    @Test("what is no address is not public", arguments: [[], [8, 8, 8], [8, 8, 8, 8, 8]] as [[UInt8]])
    func noAddress(_ bytes: [UInt8]) {
        #expect(!AddressGuard.isPublic(bytes))
        #expect(!AddressGuard.isLoopback(bytes))
    }

    @Test("loopback is 127/8 and ::1")
    func loopback() {
        #expect(AddressGuard.isLoopback([127, 0, 0, 1]))
        #expect(AddressGuard.isLoopback([127, 9, 9, 9]))
        #expect(!AddressGuard.isLoopback([128, 0, 0, 1]))
        #expect(AddressGuard.isLoopback([UInt8](repeating: 0, count: 15) + [1]))
        #expect(!AddressGuard.isLoopback([UInt8](repeating: 0, count: 16)))
    }
}
