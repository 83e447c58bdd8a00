import PealCore
import Testing

@Suite("IPAddress") struct IPAddressTests {
    @Test(
        "reads both families",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"),
            ("::", "0:0:0:0:0:0:0:0"), ("::1", "0:0:0:0:0:0:0:1"), ("1::", "1:0:0:0:0:0:0:0"),
            ("2001:DB8::8:800:200c:417a", "2001:db8:0:0:8:800:200c:417a"),
            ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("::ffff:192.0.2.1", "0:0:0:0:0:ffff:c000:201"), ("64:ff9b::10.0.0.1", "64:ff9b:0:0:0:0:a00:1"),
            ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ])
    func reads(text: String, written: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == written)
        #expect(IPAddress(written) == address)
    }

    @Test(
        "refuses anything else",
        arguments: [
            "", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "0x7f.0.0.1", "1.2.3.+4", "1.2.3.", "localhost",
            "2130706433", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::",
            "g::", "::1.2.3", "::1.2.3.4:5", "[::1]", "fe80::1%eth0", "1:2:3:4:5:6:7:1.2.3.4", "::+1",
        ])
    func refuses(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("has four bytes or sixteen", arguments: 0...17)
    func bytes(count: Int) {
        #expect((IPAddress(bytes: Array(repeating: 1, count: count)) != nil) == (count == 4 || count == 16))
    }
}
