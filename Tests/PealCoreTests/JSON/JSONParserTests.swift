import PealCore
import PealTesting
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
        "refuses anything else",
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
        "leniently ignores one trailing comma, a missing comma and comments",
        arguments: [
            ("[1,]", [1]), ("[[1 , ],\n]", [[1]]), ("{\"a\":1,}", ["a": 1]),
            ("{\"a\":{\"b\":[2,],} , }", ["a": ["b": [2]]]),
            ("[]", []), ("{\"a\":[]}", ["a": []]), ("{\"a\":1 \"b\":2}", ["a": 1, "b": 2]),
            ("{\"a\":1\n\"b\":{}\"c\":[]}", ["a": 1, "b": [:], "c": []]), ("{\"a\":\"x\"\"b\":2}", ["a": "x", "b": 2]),
            ("[1 2]", [1, 2]), ("[1 -2 true null,]", [1, -2, true, .null]), ("[{} {}[]\"a\"]", [[:], [:], [], "a"]),
            ("// a\n[1, // b\n2 /* c */]/**/", [1, 2]), ("[1 /* , ] */ , /* // */ 2]", [1, 2]),
            ("{\"a\" /*x*/ : // y\r\n 1}//", ["a": 1]), ("[\"// no comment\"]", ["// no comment"]),
            ("[1/**/2]", [1, 2]), ("[1 /***/]", [1]),
        ] as [(String, JSON)])
    func lenient(text: String, expected: JSON) throws {
        #expect(try JSONParser.parse(Array(text.utf8), isLenient: true) == expected)
    }

    @Test(
        "leniently accepts nothing else that is invalid",
        arguments: [
            "[,]", "{,}", "[1,,]", "{\"a\":1,,}", "{\"a\" 1,}", "[1,", "{\"a\":1,", "[1,}", "1,", "[12-3]", "[1\"",
            "1 2",
            "[truefalse]", "{\"a\":1 b:2}", "{\"a\":1 2}", "{\"a\":1 {}}", "{a:1}", "['a']", "/* [1]", "[1] /*/",
            "[1 / 2]",
            "[1] # a", "/", "/*", "//", "[1}", "{\"a\":1 \"b\"}",
        ])
    func nothingElse(text: String) {
        #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse(Array(text.utf8), isLenient: true)
        }
    }

    @Test("reads lenient text in linear time", .timeLimit(.minutes(1)))
    func linear() throws {
        let comments = Array(String(repeating: "/* * / */ // x\n", count: 100_000).utf8)
        #expect(try JSONParser.parse(comments + Array("[]".utf8) + comments, isLenient: true) == [])
        let slashes = Array(String(repeating: "/*", count: 500_000).utf8)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(slashes, isLenient: true) }
        let deep = String(repeating: "[ ", count: 100_000)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array(deep.utf8), isLenient: true) }
        let many = Array(String(repeating: "1 ", count: 200_000).utf8)
        #expect(throws: JSONParser.Failure.self) {
            try JSONParser.parse(Array("[".utf8) + many + Array("]".utf8), valuesMax: 1000, isLenient: true)
        }
    }

    @Test(
        "reads a whole number from text with blanks around it, and no increment",
        arguments: [
            (" 3 ", 3), ("\n-4\r\n", -4), ("007", 7), ("5.0", 5), ("1e3", 1000), ("+1", nil), ("", nil), (" ", nil),
            ("1 2", nil),
            ("1.", nil), (".5", nil), ("0x1", nil), ("--1", nil), ("1e", nil), ("1.5", nil), ("٣", nil),
            ("\u{A0}3", nil),
        ] as [(String, Int64?)])
    func tolerantInteger(text: String, number: Int64?) {
        #expect(JSON.string(text).tolerantInteger == number)
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
        "states where a document is invalid",
        arguments: [
            ("", 1, 1), ("{\n  \"a\": tru\n}", 2, 8), ("[1,\n2,\n 3 4]", 3, 4), ("[1, 01]", 1, 5), ("\"ab\ncd\"", 1, 4),
        ])
    func position(text: String, line: Int, column: Int) throws {
        let failure = try #require(throws: JSONParser.Failure.self) { try JSONParser.parse(text) }
        #expect(failure.line == line)
        #expect(failure.column == column)
        #expect("\(failure)".hasSuffix("at line \(line), column \(column)"))
    }

    @Test("accepts documents that nest up to the limit", arguments: [("[", "]"), ("{\"a\":", "}")])
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
