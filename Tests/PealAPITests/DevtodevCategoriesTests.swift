import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("devtodev's categories")
struct DevtodevCategoriesTests {
    private static func get(_ fixture: Fixture, _ query: String = "", language: String? = nil) async throws
        -> Fixture.Reply
    {
        try await fixture.call(
            .get, "/v1/devtodev/categories\(query)", authorization: nil,
            headers: language.map { ["Accept-Language": $0] } ?? [:])
    }

    @Test("are served to everyone, may be cached, and include every template of the vendor's document")
    func all() async throws {
        try await Fixture.open { fixture in
            let reply = try await Self.get(fixture)
            #expect(reply.status == 200)
            #expect(reply.header("Cache-Control") == "public, max-age=3600")
            #expect(reply.header("Vary") == "Accept-Language")
            let categories = try #require(reply.json.arrayValue)
            let ids = categories.compactMap { $0["id"]?.stringValue }
            #expect(ids == Self.ids)
            #expect(
                categories[0].text == #"{"id":"dtd_yes.open_no.dismiss","buttons":["#
                    + #"{"id":"yes","text":"Yes","activationMode":"foreground"},"#
                    + #"{"id":"no","text":"No","activationMode":"background"}]}"#)
            for category in categories {
                // In this table every id contains its buttons.
                let told = category["buttons"]?.arrayValue?.map { button in
                    let isOpen = button["activationMode"] == "foreground"
                    return "\(button["id"]?.stringValue ?? "").\(isOpen ? "open" : "dismiss")"
                }
                #expect("dtd_" + (told ?? []).joined(separator: "_") == category["id"]?.stringValue)
            }
        }
    }

    private static let ids = [
        "dtd_yes.open_no.dismiss", "dtd_yes.dismiss_no.dismiss", "dtd_accept.open_decline.dismiss",
        "dtd_accept.dismiss_decline.dismiss", "dtd_shop_now.open", "dtd_buy_now.open", "dtd_more_info.open",
        "dtd_download.open", "dtd_share.open", "dtd_download.open_share.open", "dtd_shop_now.open_share.open",
        "dtd_buy_now.open_share.open", "dtd_like.open_dislike.open", "dtd_like.open_dislike.dismiss", "dtd_like.open",
        "dtd_like.open_share.open", "dtd_add.open", "dtd_save.open", "dtd_rate.open", "dtd_search.open",
        "dtd_book.open",
    ]

    @Test(
        "are in the requested language",
        arguments: [
            ("?locale=de", nil, "Ja", "de"), ("?locale=de-AT", nil, "Ja", "de"), ("?locale=pt_BR", nil, "Sim", "pt"),
            ("?locale=zh-Hant-TW", nil, "是", "zh-hant"), ("?locale=zh_HK", nil, "是", "zh-hant"),
            ("?locale=zh-Hans-CN", nil, "是", "zh"), ("?locale=xx", nil, "Yes", "en"), ("?locale=", "fr", "Oui", "fr"),
            ("", "fr-CA,fr;q=0.9,en;q=0.8", "Oui", "fr"), ("", "da, en-gb;q=0.8, ja;q=0.9", "はい", "ja"),
            ("", "ru;q=0, *", "Yes", "en"), ("?locale=ar", "fr", "نعم", "ar"), ("", "KO", "예", "ko"),
            ("?locale=tr", nil, "Evet", "tr"), ("?locale=es", nil, "Sí", "es"), ("?locale=it", nil, "Sì", "it"),
            ("?locale=ru", nil, "Да", "ru"), ("", ";;,q=1,,", "Yes", "en"),
        ] as [(String, String?, String, String)])
    func language(query: String, header: String?, yes: String, tag: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await Self.get(fixture, query, language: header)
            #expect(reply["0.buttons.0.text"] == .string(yes))
            #expect(reply.header("Content-Language") == tag)
        }
    }

    @Test("are translated completely: every button has its own text in every language")
    func whole() async throws {
        let tags = [
            "en", "de", "fr", "es", "it", "pt", "ru", "ja", "ko", "zh", "zh-Hant", "tr", "ar", "nl", "pl", "uk",
        ]
        try await Fixture.open { fixture in
            var languages: Set<String> = []
            for tag in tags {
                let reply = try await Self.get(fixture, "?locale=\(tag)")
                #expect(reply.header("Content-Language") == tag.lowercased())
                var texts: [String: String] = [:]
                for button in reply.json.arrayValue?.flatMap({ $0["buttons"]?.arrayValue ?? [] }) ?? [] {
                    texts[button["id"]?.stringValue ?? ""] = button["text"]?.stringValue
                }
                #expect(texts.count == 16)
                #expect(Set(texts.values).count == 16, "\(tag): two buttons have one text")
                #expect(!texts.contains { $0.value.isEmpty || $0.value == $0.key }, "\(tag)")
                languages.insert(texts.sorted { $0.key < $1.key }.map(\.value).joined(separator: "|"))
            }
            #expect(languages.count == tags.count)
        }
    }
}
