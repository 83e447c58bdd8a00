import PealCore
import PealTesting
import Testing

@Suite("Base64URL") struct Base64URLTests {
    @Test(
        "agrees with RFC 4648 §10",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ])
    func vectors(plain: String, encoded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
        let padded = encoded + String(repeating: "=", count: (4 - encoded.count % 4) % 4)
        #expect(Base64URL.decode(padded) == Array(plain.utf8))
    }

    @Test("writes the URL alphabet and reads both")
    func alphabets() {
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        #expect(Base64URL.decode("-_8") == [0xFB, 0xFF])
        #expect(Base64URL.decode("+/8") == [0xFB, 0xFF])
    }

    @Test("decodes what it encoded")
    func roundTrip() {
        var generator = SeededGenerator(seed: 3)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(
        "refuses invalid base64",
        arguments: [
            "Z", "Zm9vY", "=", "==", "===", "Zg=", "Zm8==", "Zm9v=", "Zm9v==", "Z=g=", "Zg===", "Zm9v====", "Zm 9v",
            "Zm9v\n",
            "Zm9é", "Zm9*",
        ])
    func refuses(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
