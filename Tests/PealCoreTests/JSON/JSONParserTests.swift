import PealCore
import Testing

@Suite("JSON parser") struct JSONParserTests {
    @Test(
        "reads what RFC 8259 calls a document",
        arguments: [
            ("null", JSON.null),
            ("true", true),
            ("false", false),
            ("0", 0),
            ("-0", .number("-0")),
            ("1.0", .number("1.0")),
            ("1e5", .number("1e5")),
            ("-12.5E-3", .number("-12.5E-3")),
            ("12345678901234567890123", .number("12345678901234567890123")),
            ("\"\"", ""),
            ("\"a b\"", "a b"),
            ("[]", []),
            ("{}", .object(.init())),
            (" \t\r\n[ 1 , 2 ]\n", [1, 2]),
            ("{\"a\":{\"b\":[null,{}]}}", ["a": ["b": [.null, .object(.init())]]]),
            ("\u{FEFF}1", 1),
        ] as [(String, JSON)])
    func reads(text: String, expected: JSON) throws {
        #expect(try JSONParser.parse(text) == expected)
    }

    @Test(
        "reads every escape",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u0041\u00e9\u20AC""#, "Aé€"),
            (#""\ud83d\ude00""#, "😀"),
            (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
            (#""\u0000""#, "\u{0}"),
            (#""x\u000ay""#, "x\ny"),
            ("\"caf\u{e9} \u{7f}\"", "café \u{7f}"),
        ])
    func escapes(text: String, expected: String) throws {
        #expect(try JSONParser.parse(text) == .string(expected))
    }

    @Test(
        "refuses what is no document",
        arguments: [
            "", " ", "nul", "nulll", "True", "+1", "01", "-", "-01", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity",
            "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\n\"", "\"\t\"", "\"\\", "'a'", "[", "[1",
            "[1,", "[1,]", "[,]", "[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:1}",
            "{\"a\" 1}", "{,}", "1 2", "[] []", "// comment\n1", "\u{FEFF}", "1\u{0}", "[1}", "{\"a\":1]",
        ])
    func refuses(text: String) {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
    }

    @Test(
        "ignores one trailing comma where that is allowed",
        arguments: [
            ("[1,]", [1]), ("[[1 , ],\n]", [[1]]), ("{\"a\":1,}", ["a": 1]),
            ("{\"a\":{\"b\":[2,],} , }", ["a": ["b": [2]]]),
            ("[]", []), ("{\"a\":[]}", ["a": []]),
        ] as [(String, JSON)])
    func trailingCommas(text: String, expected: JSON) throws {
        #expect(try JSONParser.parse(Array(text.utf8), allowsTrailingCommas: true) == expected)
    }

    @Test(
        "accepts nothing invalid except trailing commas",
        arguments: ["[,]", "{,}", "[1,,]", "[1 2,]", "{\"a\":1,,}", "{\"a\" 1,}", "[1,", "{\"a\":1,", "[1,}", "1,"])
    func nothingElse(text: String) {
        #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse(Array(text.utf8), allowsTrailingCommas: true)
        }
    }

    @Test(
        "refuses a lone surrogate",
        arguments: [
            #""\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ude00""#, #""\ud83d\ud83d""#, #""\ud83d\u0041""#,
            #""\ud83d\"#, #""\ud83d\u""#, #""\ud83d\ude0""#,
        ])
    func surrogates(text: String) {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
    }

    @Test(
        "refuses bytes that are not UTF-8, with and without an escape in the string",
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([quote] + bytes + [quote]) }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([quote] + Array("\\n".utf8) + bytes + [quote]) }
        #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse(Array("{\"a".utf8) + bytes + Array("\":1}".utf8))
        }
    }

    @Test(
        "says where a document breaks",
        arguments: [
            ("", 1, 1), ("{\n  \"a\": tru\n}", 2, 8), ("[1,\n2,\n 3 4]", 3, 4), ("[1, 01]", 1, 5), ("\"ab\ncd\"", 1, 4),
        ])
    func place(text: String, line: Int, column: Int) throws {
        let failure = try #require(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
        #expect(failure.line == line)
        #expect(failure.column == column)
        #expect("\(failure)".hasSuffix("at line \(line), column \(column)"))
    }

    @Test("lets documents nest to the limit and no deeper", arguments: [("[", "]"), ("{\"a\":", "}")])
    func depth(open: String, close: String) throws {
        func nested(_ levels: Int) -> String {
            String(repeating: open, count: levels - 1) + (open == "[" ? "[]" : "{}")
                + String(repeating: close, count: levels - 1)
        }
        _ = try JSONParser.parse(nested(Limits.jsonDepthMax))
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(nested(Limits.jsonDepthMax + 1)) }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(String(repeating: "[", count: 1_000_000)) }
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse("[[1]]", depthMax: 1) }
        #expect(try JSONParser.parse("[1]", depthMax: 1) == [1])
    }

    @Test("survives every prefix and every changed byte of a document")
    func hostile() {
        let good = Array(#"{"a":[1,-2.5e+3,"x\u00e9\ud83d\ude00",true,null],"b":{"c":""}}"#.utf8)
        var refusedCount = 0
        for end in good.indices where (try? JSONParser.parse(good[..<end])) == nil { refusedCount += 1 }
        #expect(refusedCount == good.count)
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(
                    in: .min ... .max, using: &generator)
            }
            guard let document = try? JSONParser.parse(bytes) else { continue }
            #expect((try? JSONParser.parse(document.bytes)) == document)
        }
    }
}
