import PealCore
import Testing

@Suite("Limits of JSON")
struct JSONLimitTests {
    @Test(
        "count every value of a document",
        arguments: [("[1,2,3]", 4), (#"{"a":{"b":[]},"c":null}"#, 4), ("1", 1)])
    func values(text: String, count: Int) throws {
        #expect(throws: Never.self) { try JSONParser.parse(Array(text.utf8), valuesMax: count) }
        let failure = #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse(Array(text.utf8), valuesMax: count - 1)
        }
        #expect(failure?.hasTooManyValues == true)
    }

    @Test(
        "a member that is given twice is named with its path, if that is refused",
        arguments: [
            (#"{"a":1,"b":2,"a":3}"#, "a"), (#"{"a":{"b":1,"c":2,"b":null}}"#, "a.b"),
            (#"{"a":[0,[{"b":1,"b":2}]]}"#, "a[1][0].b"), (#"[{"":1,"":2}]"#, "[0]."),
        ])
    func repeated(text: String, path: String) throws {
        let failure = #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse(Array(text.utf8), refusesRepeated: true)
        }
        #expect(failure?.repeated == path)
        #expect(throws: Never.self) { try JSONParser.parse(text) }
    }

    @Test(
        "the same name in several objects, and names that only look alike, are not given twice",
        arguments: [
            #"{"a":{"a":1},"b":{"a":1}}"#, #"[{"a":1},{"a":1}]"#, "{\"\u{E9}\":1,\"e\u{301}\":2}", #"{"a":1,"A":2}"#,
        ])
    func distinct(text: String) {
        #expect(throws: Never.self) { try JSONParser.parse(Array(text.utf8), refusesRepeated: true) }
    }

    @Test("another fault is not reported as too many values")
    func otherFault() {
        let failure = #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array("[1,".utf8), valuesMax: 9) }
        #expect(failure?.hasTooManyValues == false)
    }

    @Test(
        "a member is found without parsing the rest",
        arguments: [
            (#"{"a":"x"}"#, "x"),
            (#" { "b" : {"a":"inner"} , "a" : "x" , "c": [ {"a":1} ] } "#, "x"),
            (#"{"a":"x","rest":[[[{"#, "x"),
            (#"{"a":"first","a":"last"}"#, "last"),
            (#"{"s":"\"a\":\"no\"","a":"x\u0041"}"#, "xA"),
            (#"{"a":17,"b":"#, "17"),
            (#"{"b":[[],[],[]],"a":"x""#, "x"),
            (#"{"a":"unfini"#, nil),
            (#"{"a":null}"#, nil),
            (#"["a","x"]"#, nil),
            (#"{"b":"\"#, nil),
            ("", nil),
            ("{", nil),
        ] as [(String, String?)])
    func peek(text: String, expected: String?) {
        #expect(JSONPeek.scalars(["a"], in: Array(text.utf8))["a"] == expected)
    }

    @Test("what is found is what the parser finds, wherever the text is cut")
    func agrees() throws {
        let text = #"{"n":{"user":"no"},"user":"yes","list":[1,{"user":2}],"text":"}{\"","app":"a"}"#
        let bytes = Array(text.utf8)
        let whole = try JSONParser.parse(bytes)
        for end in 0...bytes.count {
            let found = JSONPeek.scalars(["user", "app"], in: Array(bytes[..<end]))
            for (name, value) in found { #expect(whole[name]?.stringValue == value) }
        }
        #expect(JSONPeek.scalars(["user", "app"], in: bytes) == ["user": "yes", "app": "a"])
    }
}

@Suite("The strength of a secret")
struct SecretStrengthTests {
    @Test(
        "is sufficient if a program generated it",
        arguments: [
            "9f86d081884c7d659a2feaa0c55ad015", "CTX-Zk3vQ9pLr7TnX2mB", "b1946ac9-2ad7-4f0d-9c7e-1f0f7a3b5c6d",
            "correct-horse-battery-staple-42", "xK9mQ2vL8pRt4W", "xK9mQ2vL8pR3st",
        ])
    func strong(secret: String) { #expect(SecretStrength.isStrong(secret), "\(SecretStrength.bits(secret))") }

    @Test(
        "is insufficient if it is short, simple or repeated",
        arguments: [
            "", "secret", "password", "Passw0rd!", "12345678901234567890123456789012",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abcdefghijklmnopqrstuvwxyz", "abababababababababababababababab",
            "CTX-short", "hunter2hunter", "aabbccddeeffgghhiijjkk", "1111222233334444555566667777888899990000",
        ])
    func weak(secret: String) { #expect(!SecretStrength.isStrong(secret), "\(SecretStrength.bits(secret))") }
}
