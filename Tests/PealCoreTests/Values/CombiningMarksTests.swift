import PealCore
import Testing

@Suite("Combining marks in a row") struct CombiningMarksTests {
    /// What Swift would sort for minutes to compare it.
    private static let endless = "a" + String(repeating: "\u{301}\u{316}", count: 500_000)

    @Test(
        "are accepted as people write them",
        arguments: [
            "", "plain", "cafe\u{301}", "\u{E9}\u{E9}\u{E9}",
            "h" + String(repeating: "\u{301}", count: Limits.combiningMarksMax),
            String(repeating: "e\u{301}\u{316}", count: 1000), "\u{1F469}\u{200D}\u{1F680}\u{FE0F}",
            "\u{915}\u{94D}\u{937}\u{93F}",
        ])
    func accepted(_ text: String) throws {
        #expect(!CombiningMarks.areTooMany(in: text))
        #expect(try JSONParser.parse("\"\(text)\"") == .string(text))
        #expect(PercentCoding.decode(Substring(PercentCoding.encode(text))) == text)
    }

    @Test(
        "are counted by their category, because a few decompose into marks that are sorted",
        arguments: ["\u{301}", "\u{F73}", "\u{302E}", "\u{1D165}"])
    func counted(_ mark: String) {
        #expect(CombiningMarks.areTooMany(in: "a" + String(repeating: mark, count: Limits.combiningMarksMax + 1)))
    }

    @Test("are refused in JSON, escaped or not, except in what was stored")
    func json() throws {
        let escaped = String(repeating: #"\u0301\u0316"#, count: 1000)
        for text in ["[\"\(Self.endless)\"]", "{\"\(Self.endless)\":1}", "\"\(escaped)\""] {
            let failure = #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array(text.utf8)) }
            #expect(failure?.reason == "more than \(Limits.combiningMarksMax) combining marks in a row")
        }
        #expect(try JSONParser.parse(Array("\"\(escaped)\"".utf8), isStored: true).stringValue != nil)
    }

    @Test("are refused in paths and queries, and stay encoded in forms")
    func encoded() {
        let encoded = Substring(PercentCoding.encode(Self.endless))
        #expect(PercentCoding.decode(encoded) == nil && PercentCoding.decode(Self.endless[...]) == nil)
        #expect(PercentCoding.decodeLeniently(encoded).utf8.elementsEqual(encoded.utf8))
    }
}
