/// An element of a document that is being written.
package struct XMLElement: Sendable {
    private let name: String
    private let attributes: [(name: String, value: XMLText)]
    private let content: Content

    private enum Content: Sendable {
        case text(XMLText)
        case children([XMLElement])
    }

    /// - Parameter attributes: in written order; nil = left out.
    package init(_ name: String, _ attributes: [(String, XMLText?)] = [], _ children: [XMLElement] = []) {
        self.init(name, attributes, .children(children))
    }

    /// - Parameter attributes: in written order; nil = left out.
    package init(_ name: String, _ attributes: [(String, XMLText?)] = [], text: XMLText) {
        self.init(name, attributes, .text(text))
    }

    private init(_ name: String, _ attributes: [(String, XMLText?)], _ content: Content) {
        self.name = name
        self.attributes = attributes.compactMap { name, value in value.map { (name, $0) } }
        self.content = content
    }

    /// In UTF-8, without a declaration.
    package var bytes: [UInt8] { Array(text.utf8) }

    /// Without a declaration.
    package var text: String {
        var out = ""
        write(to: &out)
        return out
    }

    private func write(to out: inout String) {
        out += "<\(name)"
        for attribute in attributes { out += " \(attribute.name)=\"\(attribute.value.attribute)\"" }
        switch content {
        case .text(let text): out += ">\(text.content)</\(name)>"
        case .children(let children) where children.isEmpty: out += "/>"
        case .children(let children):
            out += ">"
            for child in children { child.write(to: &out) }
            out += "</\(name)>"
        }
    }
}
