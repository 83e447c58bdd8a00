import Testing

@testable import PealCore

@Suite("Percent-encoding") struct PercentCodingTests {
    @Test(
        "escapes everything except unreserved characters, and decodes to the same text",
        arguments: [
            ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b+c/ü", "a%20b%2Bc%2F%C3%BC"), ("100%", "100%25"),
            ("\n\u{0}", "%0A%00"),
        ])
    func encodes(text: String, encoded: Substring) {
        #expect(PercentCoding.encode(text) == String(encoded))
        #expect(PercentCoding.decode(encoded) == text)
        #expect(PercentCoding.decode(encoded, plusIsSpace: true) == text)
        #expect(PercentCoding.decodeLeniently(encoded) == text)
    }

    @Test("refuses invalid escapes and invalid UTF-8", arguments: ["%", "a%4", "%zz", "%C3", "%FF"])
    func refuses(text: Substring) {
        #expect(PercentCoding.decode(text) == nil)
    }

    @Test(
        "reads a form's field whatever it contains",
        arguments: [
            ("a+b", "a b"), ("%", "%"), ("a%4", "a%4"), ("%zz+", "%zz "), ("%C3", "\u{FFFD}"), ("%2B", "+"),
        ])
    func isLenient(text: String, decoded: String) {
        #expect(PercentCoding.decodeLeniently(Substring(text)) == decoded)
    }

    @Test("keeps a plus sign unless it means a space")
    func plus() {
        #expect(PercentCoding.decode("a+b%20c") == "a+b c")
        #expect(PercentCoding.decode("a+b%20c", plusIsSpace: true) == "a b c")
    }
}
