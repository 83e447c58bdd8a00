import PealCore
import Testing

@Suite("Hex") struct HexTests {
    @Test("writes in lower case and reads either")
    func roundTrip() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes)
        #expect(Hex.encode([0, 0xAB]) == "00ab")
        #expect(Hex.decode("") == [])
    }

    @Test("refuses odd lengths and other characters", arguments: ["a", "abc", "0g", "0x", " 0", "é", "ａ0", "0\u{0}"])
    func refuses(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}
