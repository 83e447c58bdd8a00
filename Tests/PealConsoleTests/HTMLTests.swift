import PealConsole
import PealCore
import Testing

@Suite("HTML") struct HTMLTests {
    @Test(
        "escapes every value",
        arguments: [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onmouseover=\"x", "&quot; onmouseover=&quot;x"), ("' x='", "&#39; x=&#39;"),
            ("a & b", "a &amp; b"), ("\u{0}", "\u{FFFD}"),
            // By characters, this would be one that is not a quotation mark.
            ("\"\u{301} onload=x", "&quot;\u{301} onload=x"), ("<\u{338}b", "&lt;\u{338}b"), ("é", "é"),
        ])
    func escapes(value: String, expected: String) {
        let html: HTML = "<p title=\"\(value)\">"
        #expect(html.text == "<p title=\"\(expected)\">")
    }

    @Test("keeps markup as it is")
    func markup() {
        let inner: HTML = "<b>\("<")</b>"
        let outer: HTML = "<p>\(inner)\([inner, inner])\(if: true, "<i>")\(if: false, "<u>")\(7)</p>"
        #expect(outer.text == "<p><b>&lt;</b><b>&lt;</b><b>&lt;</b><i>7</p>")
    }
}

@Suite("A form") struct FormTests {
    @Test("reads fields as browsers send them")
    func fields() {
        let form = Form(encoded: "a=1+2&b=%C3%A9%26&a=3&c&bad=%zz&n=%0d%0Ax")
        #expect(form["a"] == "1 2" && form.all("a") == ["1 2", "3"] && form["b"] == "é&" && form["c"] == nil)
        #expect(form["bad"] == "%zz" && form.raw("n") == "\nx")
    }

    @Test("contains no U+0000, which PostgreSQL's texts cannot contain", arguments: ["a%00b", "a\0b"])
    func nullCharacter(text: String) {
        #expect(Form(encoded: "\(text)=\(text)").all("a\u{FFFD}b") == ["a\u{FFFD}b"])
        #expect(URLPath.segments("/console/\(text)") == nil)
    }

    @Test("reads lists without repetitions")
    func lists() {
        #expect(Form(encoded: "t=a%2C+b%0D%0Aa%2C%2Cc").list("t") == ["a", "b", "c"])
    }

    @Test("the time to read a list grows with its quotation marks, not with their square", arguments: [0, 10_000])
    func quotationMarks(blanks: Int) {
        let marks = String(repeating: "\"", count: 500_000)
        let form = Form(
            encoded: "t=" + String(repeating: "+", count: blanks) + "a" + String(repeating: "%22", count: 500_000))
        let begun = ContinuousClock.now
        #expect(form.list("t") == ["a" + marks])
        #expect(ContinuousClock.now - begun < .seconds(15))
    }

    @Test("is divided by bytes, because comparing characters with many combining marks takes long")
    func combiningMarks() {
        let marks = String(repeating: "\u{301}", count: 100_000)
        let form = Form(encoded: "a=x\(marks)&\(marks)=1&b=2")
        #expect(form.pairs.count == 3 && form["b"] == "2" && form["a"]?.utf8.allSatisfy { $0 < 0x80 } == true)
    }

    @Test("is written back as it was read")
    func encoding() {
        let form = Form(encoded: "a=%26%3D&b=x")
        #expect(Form(encoded: form.encoded) == form && form.with("b", "y")["b"] == "y")
    }
}
