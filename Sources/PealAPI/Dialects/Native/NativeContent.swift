internal import PealCore
internal import PealShapes

/// The shapes of a message's content.
enum NativeContentShapes {
    static let content = ObjectShape(
        "NativeContent", Content(),
        "The platforms' objects contain the push network's own fields, which override the common ones."
    ) {
        Entry("title", localized) { $0.title = $1 }
        Entry("subtitle", localized) { $0.subtitle = $1 }
        Entry("body", localized) { $0.body = $1 }
        Entry("image_url", imageURL) { $0.imageURL = $1 }
        Entry("data", .data) { $0.data = $1 ?? .init() }
        Entry("badge", .integer(0...Int64(Int32.max))) { $0.badge = $1 }
        Entry("sound", .text()) { $0.sound = $1 }
        Entry("thread_id", .text()) { $0.threadID = $1 }
        Entry("category", .text()) { $0.category = $1 }
        for platform in Platform.addressable {
            Entry(platform.rawValue, withEnvironment(own[platform] ?? other, platform)) { $0.platforms[platform] = $1 }
        }
        Entry("default_locale", defaultLocale) { $0.defaultLocale = $1 }
    }.shape.checked(withDefaultLocale)

    private static let localized = Shape<LocalizedText>.either(
        "NativeLocalizedText", Shape.content.map { .plain($0) }, or: texts.map { .localized($0) },
        expected: "a string or an object of locales")

    private static let texts = Shape<[String: String]>.map(
        "NativeTexts", .content, 1...Limits.localesPerMessageMax, of: "locales",
        key: { $0.isLocaleName ? nil : "a locale is a tag such as de or de-AT" },
        keySchema: .text(1...Limits.localeCharactersMax, pattern: "[A-Za-z0-9_-]+"))

    private static let imageURL = Shape.text(characters: Limits.imageURLBytesMax).httpURL

    private static let defaultLocale = Shape.text(characters: Limits.localeCharactersMax).described(
        "Every localized text must include it.")
}

extension NativeContentShapes {
    /// The objects whose members Peal defines.
    private static let own: [Platform: Shape<Content.PlatformContent>] = {
        var shapes = Platform.addressable.reduce(into: [:]) { shapes, platform in
            shapes[platform] = Networks.contentMembers(of: platform).map { defined($0, platform) }
        }
        shapes[.ios] = ios
        return shapes
    }()

    /// Refuses the sandbox of a platform whose network has none.
    private static func withEnvironment(
        _ shape: Shape<Content.PlatformContent>, _ platform: Platform
    ) -> Shape<Content.PlatformContent> {
        shape.checked { content, reading throws(PealError) in
            if let environment = content.options.environment {
                try NativeShapes.check(environment, of: platform, at: reading.path("options.environment"))
            }
            return content
        }
    }

    private static func defined(_ members: [String], _ platform: Platform) -> Shape<Content.PlatformContent> {
        let name = Schema.componentName(platform.rawValue)
        return ObjectShape("Native\(name)Content", Content.PlatformContent()) {
            for member in members { Entry(member, .anything) { $0.fields[member] = $1 } }
            Entry("options", NativeMessageShapes.platformOptions.shape) { $0.options = $1 ?? PlatformOptions() }
        }.shape.contentOnly()
    }

    private static let ios = ObjectShape("NativeIOSContent", Content.PlatformContent()) {
        Entry("push_type", .text()) { $0.fields["push_type"] = $1.map(JSON.string) }
        Entry("payload", payload.shape) { $0.fields["payload"] = $1.map(JSON.object) }
        Entry("options", NativeMessageShapes.platformOptions.shape) { $0.options = $1 ?? PlatformOptions() }
    }.shape.contentOnly()

    /// Checks only the outline; the provider checks the rest.
    private static let payload = ObjectShape("NativeAPNsPayload", JSON.Members(), extra: { $0 = $1 }) {
        Entry(checking: "aps", Shape.anyObject)
    }

    private static let other = ObjectShape(
        "NativePlatformContent", Content.PlatformContent(), extra: { $0.fields = $1 }
    ) {
        Entry("options", NativeMessageShapes.platformOptions.shape) { $0.options = $1 ?? PlatformOptions() }
    }.shape.contentOnly()

    /// Fills in the locale for devices whose own locale the content lacks: the one in the request, else `en`, else the
    /// first that every localized text has.
    @Sendable private static func withDefaultLocale(
        _ content: Content, _ reading: borrowing Reading
    ) throws(PealError) -> Content {
        let texts: [(String, Set<String>)] = [
            ("title", content.title), ("subtitle", content.subtitle), ("body", content.body),
        ].compactMap { name, text in
            if case .localized(let texts) = text { (name, Set(texts.keys)) } else { nil }
        }
        guard !texts.isEmpty else { return content }
        if let given = content.defaultLocale {
            for (name, locales) in texts where !locales.contains(given) {
                throw .invalid(reading.path(name), "\(reading.path(name)) lacks the default locale \(given)")
            }
            return content
        }
        let shared = texts.dropFirst().reduce(texts[0].1) { $0.intersection($1.1) }
        guard let chosen = shared.contains("en") ? "en" : shared.sorted().first else {
            throw .missing(reading.path("default_locale"))
        }
        var content = content
        content.defaultLocale = chosen
        return content
    }
}
