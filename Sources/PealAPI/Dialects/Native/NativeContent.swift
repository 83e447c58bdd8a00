internal import PealCore

/// Reads what a message says.
struct ContentReader {
    /// The content with its platforms' own options; `isBackground` messages need not say anything.
    func content(_ fields: Fields, isBackground: Bool) throws(PealError) -> Content {
        var content = Content()
        content.title = try text(fields, "title")
        content.subtitle = try text(fields, "subtitle")
        content.body = try text(fields, "body")
        content.imageURL = try imageURL(fields)
        if let data = try fields.object("data") {
            try ControlCharacters.refuse(
                in: JSON.object(data.members), data.path, except: ControlCharacters.inContent)
            content.data = data.members
        }
        content.badge = try fields.integer("badge", in: 0...Int64(Int32.max))
        content.sound = try fields.text("sound")
        content.threadID = try fields.text("thread_id")
        content.category = try fields.text("category")
        for platform in Platform.addressable {
            content.platforms[platform] = try platformContent(fields, platform)
        }
        content.defaultLocale = try defaultLocale(fields, content)
        guard isBackground || content != Content() else {
            throw .invalid(
                fields.path, "\(fields.path) says nothing: give a title, a body, data or a platform's object")
        }
        return content
    }

    private func text(_ fields: Fields, _ name: String) throws(PealError) -> LocalizedText? {
        guard let value = fields[name] else { return nil }
        let path = fields.path(name)
        if let plain = value.stringValue {
            try ControlCharacters.refuse(in: plain, path, except: ControlCharacters.inContent)
            return .plain(plain)
        }
        guard let members = value.objectValue else {
            throw .invalid(path, "\(path) must be a string or an object of locales, not \(value.typeName)")
        }
        guard (1...Limits.localesPerMessageMax).contains(members.count) else {
            throw .invalid(path, "\(path) may hold 1 to \(Limits.localesPerMessageMax) locales")
        }
        var texts: [String: String] = [:]
        for (locale, value) in members.pairs {
            guard locale.isLocaleName else { throw .invalid("\(path).\(locale)", "a locale is a tag as de or de-AT") }
            guard let text = value.stringValue else {
                throw .invalid("\(path).\(locale)", "\(path).\(locale) must be a string, not \(value.typeName)")
            }
            try ControlCharacters.refuse(in: text, "\(path).\(locale)", except: ControlCharacters.inContent)
            texts[locale] = text
        }
        return .localized(texts)
    }

    /// The locale for devices that have none of the content's: as given, else `en`, else the first that every
    /// localized text has.
    private func defaultLocale(_ fields: Fields, _ content: Content) throws(PealError) -> String? {
        let texts: [(String, Set<String>)] = [
            ("title", content.title), ("subtitle", content.subtitle), ("body", content.body),
        ].compactMap { name, text in
            if case .localized(let texts) = text { (name, Set(texts.keys)) } else { nil }
        }
        let given = try fields.text("default_locale", charactersMax: Limits.localeCharactersMax)
        guard !texts.isEmpty else { return given }
        if let given {
            for (name, locales) in texts where !locales.contains(given) {
                throw .invalid(fields.path(name), "\(fields.path(name)) lacks the default locale \(given)")
            }
            return given
        }
        let shared = texts.dropFirst().reduce(texts[0].1) { $0.intersection($1.1) }
        guard let chosen = shared.contains("en") ? "en" : shared.sorted().first else {
            throw .missing(fields.path("default_locale"))
        }
        return chosen
    }

    private func imageURL(_ fields: Fields) throws(PealError) -> String? {
        guard let url = try fields.text("image_url", charactersMax: Limits.imageURLBytesMax) else { return nil }
        let lowered = url.lowercased()
        guard lowered.hasPrefix("https://") || lowered.hasPrefix("http://"), !url.contains(" ") else {
            throw .invalid(fields.path("image_url"), "\(fields.path("image_url")) must be an http or https URL")
        }
        return url
    }

    private func platformContent(_ fields: Fields, _ platform: Platform) throws(PealError) -> Content.PlatformContent? {
        guard let object = try fields.object(platform.rawValue) else { return nil }
        if platform == .ios {
            _ = try object.text("push_type")
            if let payload = try object.object("payload") { _ = try payload.object("aps") }
        }
        var content = Content.PlatformContent(fields: object.members)
        content.fields["options"] = nil
        try ControlCharacters.refuse(
            in: JSON.object(content.fields), object.path, except: ControlCharacters.inContent)
        if let options = try object.object("options") { content.options = try OptionsReader().platformOptions(options) }
        return content
    }
}
