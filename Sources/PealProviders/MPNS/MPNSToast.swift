import PealCore

/// Writes toasts: two texts, and the page of the app that a tap opens.
enum MPNSToast {
    /// - Throws: `invalid_field`, naming the field.
    static func element(_ fields: PlatformFields) throws(PealError) -> XMLElement {
        let texts = try texts(fields)
        let names = ["wp:Text1", "wp:Text2", "wp:Param"]
        let parts = zip(names, texts).compactMap { name, text in text.map { XMLElement(name, text: $0) } }
        return XMLElement(
            "wp:Notification", [("xmlns:wp", "WPNotification")], [XMLElement("wp:Toast", [], parts)])
    }

    /// The author's `title`, `subtitle` and `parameter`; without `fields` the title and the body, of which one alone
    /// stands first.
    private static func texts(_ fields: PlatformFields) throws(PealError) -> [XMLText?] {
        if let own = try fields.object("fields") {
            let members = MPNSFields(own, path: fields.path("fields"))
            return [try members.text("title"), try members.text("subtitle"), try members.text("parameter")]
        }
        let lines = try fields.lines()
        return lines.count == 3 ? [lines[0], lines[2]] : lines
    }
}
