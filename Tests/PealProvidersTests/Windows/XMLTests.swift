import PealCore
import Testing

@testable import PealProviders

@Suite("XML")
struct XMLTests {
    @Test(
        "text is escaped for its position",
        arguments: [
            ("plain", "plain", "plain"), ("<a & b>", "&lt;a &amp; b&gt;", "&lt;a &amp; b&gt;"),
            ("\"'", "&quot;&apos;", "&quot;&apos;"), ("a\tb\nc", "a\tb\nc", "a&#9;b&#10;c"),
            ("a\r\nb", "a&#13;\nb", "a&#13;&#10;b"), ("]]>", "]]&gt;", "]]&gt;"), ("Grüße 👋🏽", "Grüße 👋🏽", "Grüße 👋🏽"),
            ("&amp;", "&amp;amp;", "&amp;amp;"), ("", "", ""),
        ])
    func escaping(text: String, content: String, attribute: String) throws {
        let text = try XMLText(text, field: "x")
        #expect(text.content == content)
        #expect(text.attribute == attribute)
    }

    @Test(
        "control characters are refused, naming the field",
        arguments: [0x00, 0x01, 0x08, 0x0B, 0x0C, 0x0E, 0x1B, 0x1F, 0x7F, 0x80, 0x85, 0x9F, 0xFFFE, 0xFFFF])
    func controls(value: UInt32) throws {
        let text = "a" + String(Character(try #require(Unicode.Scalar(value))))
        let error = #expect(throws: PealError.self) { try XMLText(text, field: "content.body") }
        #expect(error?.code == .invalidField && error?.field == "content.body")
    }

    @Test("libxml2 reads back everything that can be written", arguments: 0..<200)
    func writing(seed: UInt64) throws {
        let randomness = SeededRandomness(seed &* 7919 &+ 1)
        let alphabet = Array("<>&\"'\t\r\n ]!-?;#x0aé漢👋\u{A0}\u{2028}\u{FEFF}")
        func text() throws -> XMLText {
            let count = Int(randomness.next() % 24)
            let characters = (0..<count).map { _ in alphabet[Int(randomness.next() % UInt64(alphabet.count))] }
            return try XMLText(String(characters), field: "x")
        }
        let (first, second) = (try text(), try text())
        let element = XMLElement("a", [("b", first), ("c", nil)], [XMLElement("d", text: second), XMLElement("e")])
        let outline = try #require(XMLReader.read(element.bytes))
        #expect(outline.elements == ["a", "d", "e"])
        #expect(outline.attributes[0]["b"].map { Array($0.unicodeScalars) } == Array(first.text.unicodeScalars))
        #expect(Array(outline.text.unicodeScalars) == Array(second.text.unicodeScalars))
    }

    static let wellFormed: [(String, String)] = [
        ("<toast/>", "toast"), ("<toast></toast>", "toast"), ("\u{FEFF}<toast/>", "toast"),
        ("<?xml version=\"1.0\"?><toast/>", "toast"),
        ("<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<toast/>\n<!-- end -->", "toast"),
        ("<!-- a - b --><tile a='1' b=\"2\" ><visual /></tile >", "tile"),
        ("<toast a='&amp;&#10;&#x41;&quot;>'>&lt;b&gt; ] ]] ></toast>", "toast"),
        ("<toast><![CDATA[<b>&]]]]><![CDATA[>]]></toast>", "toast"),
        ("<toast xml:lang='de'>Grüße 👋</toast>", "toast"),
        ("<w:tile xmlns:w='urn:w' w:a='1' a='2'><w:b><c xmlns='urn:c'/></w:b></w:tile>", "tile"),
        ("<toast>\r\n\t<visual/>\n</toast>", "toast"), ("<a_b-c.d1/>", "a_b-c.d1"),
    ]

    @Test("a well-formed document has a root", arguments: wellFormed)
    func scanning(document: String, root: String) throws {
        #expect(try XMLScanner.root(of: document) == root)
        #expect(XMLReader.read(Array(document.utf8))?.elements.first == root)
    }

    static let refused: [String] = [
        "", " ", "toast", "<", "<>", "<toast", "<toast>", "<toast/", "<toast/ >", "< toast/>", "<1toast/>", "</toast>",
        "<toast></tost>", "<toast></toast", "<toast><a></toast></a>", "<toast/><toast/>", "<toast/>x", "x<toast/>",
        "<toast a/>", "<toast a=/>", "<toast a=1/>", "<toast a='1\"/>", "<toast a='1'b='2'/>", "<toast a='1' a='2'/>",
        "<toast a='<'/>", "<toast a='&'/>", "<toast>&</toast>", "<toast>& b</toast>", "<toast>&nbsp;</toast>",
        "<toast>&#0;</toast>", "<toast>&#7;</toast>", "<toast>&#x;</toast>", "<toast>&#;</toast>",
        "<toast>&#-1;</toast>",
        "<toast>&#xD800;</toast>", "<toast>&#xFFFFFFFFFF;</toast>", "<toast>&#+65;</toast>", "<toast>]]></toast>",
        "<toast><!-- a -- b --></toast>", "<toast><!-- a</toast>", "<toast><![CDATA[ a</toast>", "<!---->",
        "<!DOCTYPE toast><toast/>", "<!DOCTYPE t [<!ENTITY a 'b'>]><t>&a;</t>", "<toast><!ENTITY a 'b'></toast>",
        "<?php echo ?><toast/>", "<toast><?php ?></toast>", "<toast/><?x?>", " <?xml version='1.0'?><toast/>",
        "<?xml?><toast/>", "<?xml version='1.1'?><toast/>", "<?xml version='1.0' encoding='latin1'?><toast/>",
        "<?xml encoding='utf-8'?><toast/>", "<?xml version='1.0'><toast/>", "<?xml version='1.0' a='b'?><toast/>",
        "<w:tile/>", "<w:tile xmlns:v='u'/>", "<tile w:a='1'/>", "<:tile/>", "<tile:/>", "<a:b:c xmlns:a='u'/>",
        "<tile xmlns:w=''/>", "<töast/>", "<toast\u{A0}a='1'/>", "<toast><a xmlns:w='u'/><w:b/></toast>",
    ]

    @Test("anything else is refused", arguments: refused)
    func refusing(document: String) {
        #expect(throws: XMLScanner.Fault.self) { try XMLScanner.root(of: document) }
    }

    @Test("libxml2 accepts everything that is accepted, however it was changed", arguments: 0..<400)
    func bent(seed: UInt64) {
        let randomness = SeededRandomness(seed &* 104_729 &+ 3)
        var bytes = Array(Self.wellFormed[Int(randomness.next() % UInt64(Self.wellFormed.count))].0.utf8)
        let spare = Array("<>/&;'\"= a!-[]?:x".utf8)
        for _ in 0...Int(randomness.next() % 3) {
            let index = Int(randomness.next() % UInt64(bytes.count))
            let byte = spare[Int(randomness.next() % UInt64(spare.count))]
            switch randomness.next() % 3 {
            case 0: bytes[index] = byte
            case 1: bytes.insert(byte, at: index)
            default: if bytes.count > 1 { bytes.remove(at: index) }
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self), (try? XMLScanner.root(of: text)) != nil else {
            return
        }
        #expect(XMLReader.read(bytes) != nil, "\(text)")
    }

    @Test("elements may nest up to a limit")
    func depth() throws {
        func nested(_ count: Int) -> String {
            String(repeating: "<a>", count: count) + String(repeating: "</a>", count: count)
        }
        #expect(try XMLScanner.root(of: nested(Limits.xmlDepthMax)) == "a")
        let fault = #expect(throws: XMLScanner.Fault.self) {
            try XMLScanner.root(of: nested(Limits.xmlDepthMax + 1))
        }
        #expect(fault?.reason == "elements are nested too deeply")
    }

    @Test("a refusal states the position")
    func line() {
        let fault = #expect(throws: XMLScanner.Fault.self) { try XMLScanner.root(of: "<a>\n<b>\n</a>") }
        #expect(fault == .init(reason: "an end tag matches no start tag", line: 3))
    }

    @Test("the time to read an element grows with its attributes, not with their square")
    func manyAttributes() throws {
        let attributes = (0..<100_000).map { " a\($0)=''" }.joined()
        let begun = ContinuousClock.now
        #expect(try XMLScanner.root(of: "<toast\(attributes)/>") == "toast")
        #expect(ContinuousClock.now - begun < .seconds(30))
    }
}
