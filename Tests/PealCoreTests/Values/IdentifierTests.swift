import PealCore
import PealTesting
import Testing

@Suite("Identifier") struct IdentifierTests {
    @Test("reads a UUID in either case and writes it in lower case")
    func roundTrip() throws {
        let id = try #require(DeviceID("00112233-4455-6677-8899-AABBCCDDEEFF"))
        #expect(id.high == 0x0011_2233_4455_6677)
        #expect(id.low == 0x8899_AABB_CCDD_EEFF)
        #expect(id.description == "00112233-4455-6677-8899-aabbccddeeff")
        #expect(DeviceID(bytes: id.bytes) == id)
        #expect(id.bytes == Hex.decode("00112233445566778899aabbccddeeff"))
    }

    @Test(
        "refuses anything else",
        arguments: [
            "", "00112233445566778899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeef",
            "00112233-4455-6677-8899-aabbccddeeff0",
            "0011223-34455-6677-8899-aabbccddeeff", "g0112233-4455-6677-8899-aabbccddeeff",
            "{0112233-4455-6677-8899-aabbccddeef}",
            "00112233-4455-6677-8899-aabbccddee-f", "٠0112233-4455-6677-8899-aabbccddeef",
        ])
    func refuses(text: String) {
        #expect(DeviceID(text) == nil)
    }

    @Test("needs sixteen bytes", arguments: [0, 15, 17])
    func byteCount(count: Int) {
        #expect(DeviceID(bytes: Array(repeating: 1, count: count)) == nil)
    }

    @Test("sorts as its text does")
    func order() throws {
        var generator = SeededGenerator(seed: 2)
        let ids = (0..<200).map { _ in MessageID(high: generator.next(), low: generator.next()) }
        #expect(ids.sorted().map(\.description) == ids.map(\.description).sorted())
    }
}
