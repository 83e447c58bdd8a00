import Testing

@testable import PealSimulator

@Suite("Reading JSON")
struct JSONValueTests {
    @Test(
        "returns what was written",
        arguments: [
            "null", "true", "[]", "{}", "-0.5e+10", "1E400", #"{"b":1,"a":[1.50,"x",{"":null}]}"#, #""Grüße 🎉""#,
            "12345678901234567890",
        ])
    func roundTrip(text: String) throws {
        #expect(JSONValue(bytes: text.utf8)?.text == text)
    }

    @Test("reads escapes and space", arguments: [(#" "\u00fc\ud83c\udf89\n\/" "#, "ü🎉\n/"), (#""\"\\""#, #""\"#)])
    func escapes(text: String, expected: String) {
        #expect(JSONValue(bytes: text.utf8) == .string(expected))
    }

    @Test(
        "refuses invalid JSON",
        arguments: [
            "", "nul", "01", "1.", ".5", "+1", "1e", "[1,]", "{\"a\"}", "{\"a\":1,}", "'a'", "\"a", "\"\u{1}\"", "1 2",
            #""\ud83c""#, #""\x""#, "{a:1}", "[" + String(repeating: "[", count: 100), "NaN", "--1",
        ])
    func mistakes(text: String) {
        #expect(JSONValue(bytes: text.utf8) == nil)
    }

    @Test("refuses bytes that are not UTF-8")
    func bytes() {
        #expect(JSONValue(bytes: [0x22, 0xFF, 0x22]) == nil)
    }

    @Test("finds pieces of text anywhere in it", arguments: [("Semi", true), ("talk", true), ("ten", false)])
    func pieces(piece: String, isThere: Bool) {
        #expect(JSONValue(bytes: #"{"a":[{"talk":"Seminar"}],"b":10}"#.utf8)?.containsText(piece) == isThere)
    }
}
