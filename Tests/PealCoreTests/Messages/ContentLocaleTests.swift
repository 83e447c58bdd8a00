import PealCore
import Testing

@Suite("Content locales") struct ContentLocaleTests {
    private func content(_ locales: [String], default fallback: String?) -> Content {
        var content = Content()
        content.title = .localized(Dictionary(uniqueKeysWithValues: locales.map { ($0, "title \($0)") }))
        content.body = .plain("body")
        content.defaultLocale = fallback
        return content
    }

    @Test(
        "fall back from region to language to the default",
        arguments: [
            ("de-AT", "de-AT"), ("de_AT", "de-AT"), ("DE-at", "de-AT"), ("de-CH", "de"), ("de-Latn-AT", "de"),
            ("de", "de"),
            ("fr", "en"), ("fr-FR", "en"), ("d", "en"), ("", "en"), ("-", "en"), ("---", "en"), (nil, "en"),
            ("zh-Hant-TW", "zh-Hant"),
        ] as [(String?, String)])
    func fallback(device: String?, expected: String) {
        let content = content(["en", "de", "de-AT", "zh-Hant"], default: "en")
        #expect(content.contentLocale(forDevice: device) == expected)
    }

    @Test("are nil if nothing is localized, and if there is no default locale")
    func none() {
        var plain = Content()
        plain.title = .plain("x")
        #expect(plain.contentLocale(forDevice: "de") == nil)
        #expect(content(["de"], default: nil).contentLocale(forDevice: "fr") == nil)
    }

    @Test("choose the same text on every run when two offered locales differ only in case")
    func stable() {
        #expect(content(["de-at", "de-AT"], default: "de-AT").contentLocale(forDevice: "de-AT") == "de-AT")
    }

    @Test(
        "a text that spells the chosen locale in another way is found",
        arguments: [
            ("de-AT", "de_at", true), ("DE", "de", true), ("de", "de-AT", false), ("de-AT", "de-CH", false),
            ("\u{C4}", "\u{E4}", true), ("a\u{C4}", "b\u{E4}", false),
        ])
    func spelling(wanted: String, given: String, isFound: Bool) {
        let text = LocalizedText.localized([given: "found", "xx": "other"])
        #expect(text.text(for: wanted, fallback: "xx") == (isFound ? "found" : "other"))
    }

    @Test("a text that lacks the chosen locale gives its fallback")
    func text() {
        let text = LocalizedText.localized(["en": "hello", "de": "hallo"])
        #expect(text.text(for: "de", fallback: "en") == "hallo")
        #expect(text.text(for: "fr", fallback: "en") == "hello")
        #expect(text.text(for: nil, fallback: "en") == "hello")
        #expect(text.text(for: "fr", fallback: nil) == nil)
        #expect(LocalizedText.plain("x").text(for: "fr", fallback: nil) == "x")
    }

    @Test(
        "a text that lacks the chosen locale gives that of its language first",
        arguments: [
            ("de-AT", "hallo"), ("de_AT", "hallo"), ("zh-Hant-TW", "nihao"), ("den-AT", "hello"), ("DE-at", "hallo"),
        ])
    func language(locale: String, expected: String) {
        let title = LocalizedText.localized(["de": "hallo", "en": "hello", "zh-Hant": "nihao"])
        #expect(title.text(for: locale, fallback: "en") == expected)
        var content = Content()
        (content.title, content.body) = (title, .localized([locale: "x", "en": "y"]))
        content.defaultLocale = "en"
        let chosen = content.contentLocale(forDevice: locale)
        #expect(chosen == locale && content.title?.text(for: chosen, fallback: "en") == expected)
    }
}
