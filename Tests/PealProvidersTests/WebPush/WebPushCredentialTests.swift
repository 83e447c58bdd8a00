import Crypto
import PealCore
import Testing

@testable import PealProviders

@Suite("An app's VAPID keys")
struct WebPushCredentialTests {
    private func examine(
        subject: String = "mailto:push@example.com", privateKey: String = ""
    ) throws -> CredentialExamination {
        let key = Credential.VAPIDKey(
            subject: subject, privateKey: privateKey, createdAt: Timestamp(seconds: 1_700_000_000))
        return try WebPushCredential.examine([key], randomness: SeededRandomness())
    }

    @Test(
        "need a contact that push services accept",
        arguments: [
            "mailto:push@example.com", "mailto:a.b+c@mail.example.co.uk", "https://example.com",
            "https://example.com/contact?x=1", "https://example.com:8443/", "mailto:x@xn--bcher-kva.example",
            "mailto:ops@example.test",
        ])
    func subjects(subject: String) throws {
        #expect(try examine(subject: subject).facts["subject"] == .string(subject))
    }

    @Test(
        "cannot have a contact that Apple refuses",
        arguments: [
            "", "push@example.com", "mailto:", "mailto:push", "mailto:@example.com", "mailto:a@b@example.com",
            "mailto: push@example.com", "mailto:push@example.com ", "mailto:<push@example.com>",
            "mailto:Push <push@example.com>", "mailto:push@localhost", "mailto:push@mail.localhost",
            "mailto:push@printer.local", "mailto:push@nowhere.invalid", "mailto:push@example", "mailto:push@10.0.0.1",
            "mailto:push@example.com?subject=x", "mailto:a@example.com,b@example.com", "mailto:push@-example.com",
            "mailto:push@exa_mple.com", "mailto:push@example..com", "mailto:push@example.com.", "http://example.com",
            "https://", "https://localhost", "https://localhost:8080/x", "https://127.0.0.1/", "https://[::1]/",
            "https://a@example.com/", "https://example.com/#x", "https://example", "HTTPS://example.com",
            "ftp://example.com", "mailto:pu\u{0}sh@example.com", "mailto:push@ex\u{e4}mple.com",
            "mailto:" + String(repeating: "x", count: 250) + "@example.com",
        ])
    func badSubjects(subject: String) throws {
        let error = try #require(throws: PealError.self) { try examine(subject: subject) }
        #expect(error.code == .invalidField)
        #expect(error.field == "subject")
    }

    @Test("are accepted in every form, and stored in one")
    func forms() throws {
        let key = P256.Signing.PrivateKey()
        let raw = Array(key.rawRepresentation)
        let plain = Base64URL.encode(raw).replacing("-", with: "+").replacing("_", with: "/") + "="
        let forms = [
            Base64URL.encode(raw), plain, key.pemRepresentation, key.pemRepresentation.replacing("\n", with: "\r\n"),
            Base64URL.encode(Array(key.derRepresentation)),
        ]
        for form in forms {
            let examined = try examine(privateKey: form)
            guard let keys = examined.credential.webPush else { throw TestFailure("no VAPID key") }
            #expect(keys.map(\.privateKey) == [Base64URL.encode(raw)])
            #expect(keys.map(\.publicKey) == [Base64URL.encode(Array(key.publicKey.x963Representation))])
            #expect(
                try WebPushCredential.examine(keys, randomness: SeededRandomness()).credential == examined.credential)
        }
    }

    @Test(
        "are refused in any other form",
        arguments: [
            "AAAA", String(repeating: "A", count: 43), "////////////////////////////////////////////////////////",
            "no base64!", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            P384.Signing.PrivateKey().pemRepresentation,
        ])
    func badKeys(text: String) throws {
        let error = try #require(throws: PealError.self) { try examine(privateKey: text) }
        #expect(error.code == .invalidField)
        #expect(error.field == "private_key")
    }

    @Test("are created if none is given, and differ each time")
    func made() throws {
        let randomness = SeededRandomness()
        let empty = Credential.VAPIDKey(
            subject: "mailto:push@example.com", privateKey: "", createdAt: Timestamp(seconds: 0))
        let examined = try WebPushCredential.examine([empty, empty], randomness: randomness)
        guard let keys = examined.credential.webPush else { throw TestFailure("no VAPID key") }
        #expect(Set(keys.map(\.privateKey)).count == 2)
        #expect(keys.allSatisfy { Base64URL.decode($0.publicKey)?.count == 65 })
        #expect(keys.allSatisfy { WebPushCredential.canSign($0, at: Timestamp(seconds: 0)) })
        #expect(examined.facts["public_key"] == .string(keys[1].publicKey))
    }

    @Test("show everything except the secret of each")
    func facts() throws {
        let keys = [try testVAPIDKey("mailto:old@example.com", 1), try testVAPIDKey("mailto:new@example.com", 2)]
        let facts = try WebPushCredential.examine(keys, randomness: SeededRandomness()).facts
        #expect(facts.names == ["subject", "public_key", "keys"])
        #expect(facts["subject"] == "mailto:new@example.com")
        #expect(facts["public_key"] == .string(keys[1].publicKey))
        let first: JSON = [
            "fingerprint": .string(keys[0].fingerprint), "public_key": .string(keys[0].publicKey),
            "subject": "mailto:old@example.com", "created_at": "2023-11-14T22:13:20Z",
        ]
        #expect(facts["keys"]?.arrayValue?.first == first)
        #expect(facts["keys"]?.arrayValue?.count == 2)
        let text = JSON.object(facts).text
        #expect(keys.allSatisfy { !text.contains($0.privateKey) })
    }

    @Test("cannot be an empty list")
    func none() {
        let error = #expect(throws: PealError.self) {
            try WebPushCredential.examine([], randomness: SeededRandomness())
        }
        #expect(error?.code == .missingField)
    }

    @Test("cannot sign when the halves do not belong together")
    func halves() throws {
        var key = try testVAPIDKey()
        #expect(WebPushCredential.canSign(key, at: Timestamp(seconds: 0)))
        key.publicKey = try testVAPIDKey("mailto:push@example.com", 2).publicKey
        #expect(!WebPushCredential.canSign(key, at: Timestamp(seconds: 0)))
    }
}
