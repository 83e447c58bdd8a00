internal import PealCore

/// A message's content as compact JSON, without loss: numbers and member order of the author's own objects stay.
enum ContentCoding {
    /// Deeper than any request: the stored form wraps an author's object in a few levels of its own.
    static let depthMax = Limits.jsonDepthMax * 2

    static func encode(_ content: Content) -> [UInt8] {
        let platforms = Platform.allCases.compactMap { platform -> (String, JSON)? in
            guard let own = content.platforms[platform] else { return nil }
            let options = OptionsCoding.json(own.options)
            return (platform.rawValue, ["fields": .object(own.fields), "options": options])
        }
        return JSON.compact([
            ("title", content.title.map(json)), ("subtitle", content.subtitle.map(json)),
            ("body", content.body.map(json)), ("image_url", content.imageURL.map(JSON.string)),
            ("data", content.data.isEmpty ? nil : .object(content.data)), ("badge", content.badge.map(JSON.integer)),
            ("sound", content.sound.map(JSON.string)), ("thread_id", content.threadID.map(JSON.string)),
            ("category", content.category.map(JSON.string)),
            ("default_locale", content.defaultLocale.map(JSON.string)),
            ("platforms", platforms.isEmpty ? nil : .object(.init(platforms))),
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> Content {
        guard let json = try? JSONParser.parse(bytes, depthMax: depthMax) else { throw PealError.damaged("a content") }
        var content = Content()
        content.title = json["title"].flatMap(text)
        content.subtitle = json["subtitle"].flatMap(text)
        content.body = json["body"].flatMap(text)
        content.imageURL = json["image_url"]?.stringValue
        content.data = json["data"]?.objectValue ?? .init()
        content.badge = json["badge"]?.integerValue
        content.sound = json["sound"]?.stringValue
        content.threadID = json["thread_id"]?.stringValue
        content.category = json["category"]?.stringValue
        content.defaultLocale = json["default_locale"]?.stringValue
        for (name, own) in json["platforms"]?.objectValue?.pairs ?? JSON.Members().pairs {
            guard let platform = Platform(rawValue: name) else { continue }
            content.platforms[platform] = .init(
                fields: own["fields"]?.objectValue ?? .init(),
                options: OptionsCoding.platformOptions(own["options"] ?? .null))
        }
        return content
    }

    private static func json(_ text: LocalizedText) -> JSON {
        switch text {
        case .plain(let text): .string(text)
        case .localized(let texts):
            .object(.init(texts.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
        }
    }

    private static func text(_ json: JSON) -> LocalizedText? {
        if let text = json.stringValue { return .plain(text) }
        guard let texts = json.objectValue else { return nil }
        return .localized(texts.pairs.reduce(into: [:]) { $0[$1.0] = $1.1.stringValue })
    }
}
