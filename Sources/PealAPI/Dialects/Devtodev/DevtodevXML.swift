/// Writes the little XML that the native form of a notification cannot say. Whatever is no XML, as control characters,
/// is refused by the push network's own check of the document.
enum DevtodevXML {
    /// - Parameter inner: XML.
    static func element(_ name: String, _ attributes: [(String, String?)], _ inner: String = "") -> String {
        let list = attributes.compactMap { name, value in value.map { " \(name)=\"\(escaped($0))\"" } }.joined()
        return inner.isEmpty ? "<\(name)\(list)/>" : "<\(name)\(list)>\(inner)</\(name)>"
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
