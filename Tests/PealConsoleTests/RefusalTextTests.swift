@testable import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("Errors on German pages") struct RefusalTextTests {
    @Test(
        "are German, with the values of the original",
        arguments: [
            ("name is required", "name fehlt"),
            ("name may have at most 255 characters", "name darf höchstens 255 Zeichen haben"),
            ("write a title or a text", "einen Titel oder einen Text schreiben"),
            ("rate must be an integer from 1 to 9", "rate muss eine ganze Zahl von 1 bis 9 sein"),
            ("must be a number from 0 to 100", "muss eine Zahl von 0 bis 100 sein"),
            ("audience.users must be a list, not a string", "audience.users muss eine Liste sein, nicht ein Text"),
            ("ios: there is no option x", "ios: es gibt keine Option x"),
            (
                "secret must be whsec_ and base64 of 24 to 64 bytes",
                "secret muss whsec_ und Base64 von 24 bis 64 Bytes sein"
            ),
            (
                "The VAPID key 12ab cannot sign; upload it again.",
                "Der VAPID-Schlüssel 12ab kann nicht signieren; erneut hochladen."
            ),
            ("environment must be production or sandbox", "environment muss production oder sandbox sein"),
            ("e\u{301}: \u{301} is required", "e\u{301}: \u{301} fehlt"),
            (
                "an APNs device token must be an even number of hexadecimal digits, 64 to 200",
                "ein APNs-Gerätetoken muss aus einer geraden Zahl von Hexadezimalziffern bestehen, 64 bis 200"
            ),
            (
                "the certificate is for com.example.cheese, com.example.cheese.voip",
                "das Zertifikat gilt für com.example.cheese, com.example.cheese.voip"
            ),
            ("plattform is unknown; did you mean platform?", "plattform ist unbekannt; ist platform gemeint?"),
            (
                "a message with a window is for 1 to 1000 users; only platforms may narrow it",
                "eine Nachricht mit Zeitfenster ist für 1 bis 1000 Personen; nur Plattformen dürfen sie einschränken"
            ),
            ("web: something new", "web: something new"),
            ("something new", "something new"),
            ("", ""),
        ])
    func translated(english: String, german: String) {
        #expect(Texts(.german).translated(english) == german)
        #expect(Texts(.english).translated(english) == english)
    }

    @Test(
        "of a webhook's delivery have a sentence in each language",
        arguments: [
            "UnknownHost", "PrivateAddress", "URLNotAllowed", "NoConnection", "TLSFailed", "ConnectionLost", "Timeout",
            "NoReport", "Disabled",
        ])
    func webhookErrors(error: String) throws {
        let english = try #require(Texts(.english).meaning(ofWebhookError: error))
        let german = try #require(Texts(.german).meaning(ofWebhookError: error))
        #expect(english != german && english.hasSuffix(".") && german.hasSuffix("."))
    }

    @Test(
        "about a credential that expires are German too",
        arguments: [
            (-1, "The credential has expired.", "Die Zugangsdaten sind abgelaufen."),
            (3600, "expires in less than a day", "laufen in weniger als einem Tag ab"),
            (86_400, "expires in 1 day.", "laufen in 1 Tag ab."), (900_000, "expires in 10 days.", "in 10 Tagen ab."),
        ])
    func expiry(secondsLeft: Int64, english: String, german: String) async throws {
        try await ConsoleFixture.open { fixture in
            let (now, app) = (fixture.clock.now, fixture.app.key)
            let credential = Credential.apnsToken(.init(keyID: "K", teamID: "T", privateKey: "-", bundleID: "b"))
            let examination = CredentialExamination(
                credential: credential, facts: .init(), expiresAt: now + .seconds(secondsLeft))
            try await fixture.store.write(.control) {
                _ = try $0.putCredential(
                    examination, at: CredentialSlot(app: app, provider: .apns, environment: .production), now: now)
            }
            let cookie = try await fixture.signIn()
            for path in ["/console/", fixture.page(""), fixture.page("credentials")] {
                for (language, text) in ["en": english, "de": german] {
                    let page = try await fixture.get(path, cookie: cookie, headers: ["Accept-Language": language])
                    #expect(page.text.contains(text), "\(path) \(language)")
                }
            }
        }
    }

    @Test("have the values of the English text in the same number and order")
    func values() {
        for word in Word.refusalWords {
            #expect(
                word.english.ranges(of: "{}").count == word.german.ranges(of: "{}").count && word.german != word.english
                    || word.english == "{}: {}", "\(word.english)")
        }
    }

    @Test(
        "say in German what is wrong with a form",
        arguments: [
            ("segments", ["name": "", "where": "{}"]), ("segments", ["name": "a", "where": "x"]),
            ("segments", ["name": "a", "where": #"{"seen":{"within_days":0}}"#]),
            ("segments", ["name": "a", "where": #"{"segment":"none"}"#]),
            ("keys", ["name": "a"]), ("keys", ["name": String(repeating: "a", count: 300), "scopes": "read"]),
            ("keys", ["name": "a", "scopes": "read", "days": "x"]),
            ("webhooks", ["name": "", "url": "https://a.example", "kind": "events", "type": "none"]),
            ("webhooks", ["name": "a", "url": "x", "kind": "events", "type": "none"]),
            ("compose", ["all": "1"]), ("compose", ["title": "T"]),
            ("compose", ["title": "T", "all": "1", "badge": "x"]),
            ("compose", ["title": "T", "all": "1", "data": "x"]),
            ("compose", ["title": "T", "all": "1", "image_url": "x"]),
            ("compose", ["title": "T", "all": "1", "rate_per_second": "0"]),
            ("compose", ["title": "T", "all": "1", "locale_2": "en", "title_2": "x"]),
            ("compose", ["title": "T", "all": "1", "title_2": "x"]),
            ("compose", ["title": "T", "devices": "x"]), ("compose", ["title": "T", "all": "1", "at": "x"]),
            ("compose", ["title": "T", "all": "1", "ttl": "x"]),
            ("compose", ["title": "T", "all": "1", "at": "2027-01-01T08:00", "window_until": "2027-01-02T08:00"]),
            ("compose", ["title": "T", "all": "1", "ios": #"{"options":{"x":1}}"#]),
        ])
    func forms(path: String, fields: [String: String]) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let language = ["Accept-Language": "de"]
            let page = try await fixture.get(fixture.page(path), cookie: cookie, headers: language)
            let form = fields.merging(["csrf": try #require(page.formSecret), "step": "review"]) { $1 }
            let reply = try await fixture.post(fixture.page(path), form, cookie: cookie, headers: language)
            let shown = reply.text.matches(of: /class="notice bad"[^>]*>([^<]+)<|class="error"[^>]*>([^<]+)</).map {
                String($0.output.1 ?? $0.output.2 ?? "")
            }
            #expect(!shown.isEmpty, "\(reply.status): \(reply.text.prefix(3000))")
            for text in shown {
                let words = Set(text.lowercased().split { !$0.isLetter }.map(String.init))
                #expect(words.isDisjoint(with: ["must", "may", "the", "is", "required", "choose", "write"]), "\(text)")
            }
        }
    }
}
