import PealCore
import Testing

@Suite("JSON") struct JSONTests {
    @Test(
        "writes a document as it was read, numbers and order kept",
        arguments: [
            #"{"z":1.0,"a":12345678901234567890,"m":-0,"e":1E+2}"#,
            #"["\"\\/",null,true,[],{},""]"#,
            #"{"":{"":""}}"#,
            #""é😀""#,
        ])
    func roundTrip(text: String) throws {
        #expect(try JSONParser.parse(text).text == text)
    }

    @Test("escapes the quote, the backslash and control characters, and nothing else")
    func encodeEscapes() throws {
        let all = String(String.UnicodeScalarView((0...0x7F).compactMap { Unicode.Scalar(UInt8($0)) }))
        let text = JSON.string(all).text
        #expect(text.hasPrefix(#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\t\n\u000b\u000c\r\u000e"#))
        #expect(text.contains(#"\u001f !\"#))
        #expect(text.contains("/0123456789"))
        #expect(try JSONParser.parse(text) == .string(all))
    }

    @Test("keeps the last value of a repeated name, in the position of the first")
    func repeatedName() throws {
        #expect(try JSONParser.parse(#"{"a":1,"b":2,"a":3}"#).text == #"{"a":3,"b":2}"#)
    }

    @Test("distinguishes names by their code points, not by how they look")
    func canonicallyEquivalentNames() throws {
        let document = try JSONParser.parse("{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(document.objectValue?.count == 2)
        #expect(document["\u{e9}"] == 1)
        #expect(document["e\u{301}"] == 2)
    }

    @Test("finds, replaces and removes members of small and of large objects", arguments: [3, 12, 13, 14, 200])
    func members(count: Int) {
        var members = JSON.Members((0..<count).map { ("n\($0)", .integer($0)) })
        #expect(members.count == count)
        for number in 0..<count { #expect(members["n\(number)"] == .integer(number)) }
        #expect(members["absent"] == nil)
        members["n1"] = "new"
        #expect(members.names[1] == "n1" && members["n1"] == "new")
        members["n0"] = nil
        #expect(members.count == count - 1 && members["n0"] == nil && members.names.first == "n1")
        members["absent"] = nil
        members["last"] = true
        #expect(members.names.last == "last" && members["n\(count - 1)"] != nil)
        let none = members.removeAll { $0 == "absent" }
        let most = members.removeAll { $0.hasPrefix("n") && $0 != "n2" }
        #expect(none == 0 && most == count - 2)
        #expect(members.names == ["n2", "last"] && members["n2"] == 2 && members["last"] == true)
        #expect(members["n1"] == nil)
    }

    @Test("removes many names that FCM reserves in linear time", .timeLimit(.minutes(1)))
    func reserved() {
        var data = JSON.Members((0..<100_000).map { ("google.\($0)", 1) } + [("lesson", 7)])
        let warnings = FCMContent.removeReserved(from: &data, "data")
        #expect(warnings.count == 1 && data.names == ["lesson"])
    }

    @Test(
        "reads whole numbers however they are written, exactly",
        arguments: [
            ("5", 5), ("5.0", 5), ("5e0", 5), ("50e-1", 5), ("-0", 0), ("-0.0", 0), ("1.5e1", 15),
            ("1e18", 1_000_000_000_000_000_000),
            ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("0e999999999999999999999", 0), ("5.5", nil), ("1e-1", nil), ("9223372036854775808", nil),
            ("-9223372036854775809", nil), ("1e19", nil), ("1e999999999999999999999", nil),
            ("1e-999999999999999999", nil),
            ("1.00000000000000000000001", nil),
        ] as [(String, Int64?)])
    func integers(text: String, expected: Int64?) throws {
        #expect(try JSONParser.parse(text).integerValue == expected)
    }

    @Test("returns no number for other values")
    func notNumbers() throws {
        #expect(JSON.string("5").integerValue == nil)
        for text in ["", "e", "E", "-", ".", "e5", "x"] { #expect(JSON.number(text).integerValue != 7, "\(text)") }
        #expect(JSON.bool(true).integerValue == nil)
        #expect(try JSONParser.parse("1e999").doubleValue == nil)
        #expect(try JSONParser.parse("-2.5").doubleValue == -2.5)
    }

    @Test("merges objects member by member and replaces all else")
    func merging() throws {
        let base = try JSONParser.parse(#"{"a":{"b":1,"c":[1,2]},"d":1}"#)
        let above = try JSONParser.parse(#"{"a":{"c":[3],"e":null},"d":{"f":1}}"#)
        #expect(base.merging(above).text == #"{"a":{"b":1,"c":[3],"e":null},"d":{"f":1}}"#)
        #expect(base.merging(5) == 5)
    }

    @Test("leaves out members without a value")
    func compact() {
        #expect(JSON.compact([("a", nil), ("b", 1), ("c", JSON.null)]).text == #"{"b":1,"c":null}"#)
    }
}
