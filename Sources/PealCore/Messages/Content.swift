/// What a message says: common fields, and per platform the provider's own fields, which win over the common ones.
package struct Content: Sendable, Hashable {
    package var title: LocalizedText?
    package var subtitle: LocalizedText?
    package var body: LocalizedText?
    package var imageURL: String?
    /// The author's own members, delivered beside what the provider defines.
    package var data: JSON.Members = .init()
    package var badge: Int64?
    package var sound: String?
    package var threadID: String?
    package var category: String?
    package var defaultLocale: String?
    package var platforms: [Platform: PlatformContent] = [:]

    package init() {}

    /// One platform's object: the fields as the author wrote them (without `options`), unknown ones included.
    package struct PlatformContent: Sendable, Hashable {
        package var fields: JSON.Members
        package var options: PlatformOptions

        package init(fields: JSON.Members = .init(), options: PlatformOptions = .init()) {
            self.fields = fields
            self.options = options
        }
    }

    /// Every locale that some text is given in; empty when nothing is localized.
    package var locales: Set<String> {
        [title, subtitle, body].reduce(into: []) { locales, text in
            if case .localized(let texts) = text { locales.formUnion(texts.keys) }
        }
    }
}
