import PealCore

/// An author's content for one of Microsoft's networks: the platform's own object, and the common fields in the
/// rendered locale. Receives the render order, hands on checked text, and names the field of any refusal.
struct WindowsFields: Sendable {
    private let order: RenderOrder
    private let own: any WindowsContent
    /// The field of the platform's own object.
    let field: MessageField

    init<Own: WindowsContent>(_ order: RenderOrder, _: Own.Type) {
        self.order = order
        own = order.content.own(Own.self)
        field = Own.field
    }

    /// A member of the platform's object; nil if it is absent or null.
    subscript(_ member: WindowsMember) -> JSON? { own[member] }

    func field(_ member: WindowsMember) -> MessageField { field.member(member.rawValue) }

    /// - Throws: `invalid_field` for anything except a string.
    func string(_ member: WindowsMember) throws(ContentRefusal) -> String? {
        guard let value = self[member] else { return nil }
        guard let text = value.stringValue else {
            throw .invalid(field(member), "\(member) must be a string, not \(value.typeName)")
        }
        return text
    }

    /// - Throws: `invalid_field` for anything except a string that XML can carry.
    func text(_ member: WindowsMember) throws(ContentRefusal) -> XMLText? {
        guard let text = try string(member) else { return nil }
        return try XMLText(text, field: field(member))
    }

    /// - Throws: `invalid_field` for anything except an object.
    func object(_ member: WindowsMember) throws(ContentRefusal) -> JSON.Members? {
        guard let value = self[member] else { return nil }
        guard let members = value.objectValue else {
            throw .invalid(field(member), "\(member) must be an object, not \(value.typeName)")
        }
        return members
    }

    /// One of a closed set of words.
    /// - Throws: `invalid_field`, listing the allowed words.
    func word<Word: RawRepresentable & CaseIterable>(_ member: WindowsMember) throws(ContentRefusal) -> Word?
    where Word.RawValue == String {
        guard let text = try string(member) else { return nil }
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(field(member), "\(member) must be one of \(words)")
        }
        return word
    }

    // The common fields

    var content: Content { order.content }

    func title() throws(ContentRefusal) -> XMLText? { try common(content.title, .title) }
    func subtitle() throws(ContentRefusal) -> XMLText? { try common(content.subtitle, .subtitle) }
    func body() throws(ContentRefusal) -> XMLText? { try common(content.body, .body) }

    func image() throws(ContentRefusal) -> XMLText? {
        guard let url = content.imageURL else { return nil }
        return try XMLText(url, field: .imageURL)
    }

    /// The author's data as one text; nil if there is none.
    func data() throws(ContentRefusal) -> XMLText? {
        guard !content.data.isEmpty else { return nil }
        return try XMLText(JSON.object(content.data).text, field: .data)
    }

    /// The visible texts, in order of title, subtitle and body.
    func lines() throws(ContentRefusal) -> [XMLText] { [try title(), try subtitle(), try body()].compactMap { $0 } }

    /// The common fields as one document, for apps that display them themselves.
    var document: JSON {
        JSON.compact([
            ("title", order.text(content.title).map(JSON.string)),
            ("subtitle", order.text(content.subtitle).map(JSON.string)),
            ("body", order.text(content.body).map(JSON.string)), ("image", content.imageURL.map(JSON.string)),
            ("data", content.data.isEmpty ? nil : .object(content.data)),
        ])
    }

    private func common(_ text: LocalizedText?, _ field: MessageField) throws(ContentRefusal) -> XMLText? {
        guard let text = order.text(text) else { return nil }
        return try XMLText(text, field: field)
    }

    /// The field that takes up most of a payload.
    var largestField: MessageField {
        let sizes: [(MessageField, Int)] = [
            (.body, order.text(content.body)?.utf8.count ?? 0),
            (.title, order.text(content.title)?.utf8.count ?? 0),
            (.subtitle, order.text(content.subtitle)?.utf8.count ?? 0),
            (.data, content.data.isEmpty ? 0 : JSON.object(content.data).bytes.count),
            (.imageURL, content.imageURL?.utf8.count ?? 0),
        ]
        let owned = [WindowsMember.xml, .value, .fields, .launch].map { (field($0), self[$0]?.bytes.count ?? 0) }
        // What the author wrote for this platform replaces the common fields.
        return (owned.contains { $0.1 > 0 } ? owned : sizes).max { $0.1 < $1.1 }?.0 ?? field
    }
}

extension XMLText {
    /// - Throws: `invalid_field` for a text that XML cannot carry.
    init(_ text: String, field: MessageField) throws(ContentRefusal) {
        guard let legal = XMLText(legal: text) else {
            throw .invalid(field, "the text contains a character that XML does not allow")
        }
        self = legal
    }
}
