import Foundation
import Synchronization

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// libxml2, as an independent parser.
final class XMLReader: NSObject, XMLParserDelegate {
    /// What it read: every element with its attributes, and all text.
    struct Outline: Equatable {
        var elements: [String] = []
        var attributes: [[String: String]] = []
        var text = ""
    }

    private var outline = Outline()

    /// nil when it finds the document not well-formed.
    static func read(_ bytes: [UInt8]) -> Outline? {
        let reader = XMLReader()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = reader
        parser.shouldProcessNamespaces = true
        return parser.parse() && parser.parserError == nil ? reader.outline : nil
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        outline.elements.append(name)
        outline.attributes.append(attributes)
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { outline.text += string }
    func parser(_ parser: XMLParser, foundCDATA block: Data) { outline.text += String(decoding: block, as: UTF8.self) }
}
