import HTTPTypes
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("Credentials")
struct CredentialTests {
    static let pem = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
    private static let account: JSON = [
        "type": "service_account", "project_id": "cheese-1", "private_key_id": "k1", "private_key": .string(pem),
        "client_email": "push@cheese-1.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
        "universe_domain": "googleapis.com",
    ]

    /// Body, kind and facts of every form, with a secret that must never be returned.
    static let forms: [(path: String, body: JSON, kind: String, facts: JSON)] = [
        (
            "apns/sandbox",
            ["kind": "token", "key_id": "K", "team_id": "T", "private_key": .string(pem), "bundle_id": "com.example"],
            "token", ["key_id": "K", "team_id": "T", "bundle_id": "com.example"]
        ),
        (
            "apns/production",
            [
                "kind": "certificate", "certificate": .string(pem), "private_key": .string(pem),
                "bundle_id": "com.example",
            ], "certificate", ["bundle_id": "com.example"]
        ),
        (
            "apns/production",
            ["kind": "p12", "data": "c2Vj\ncmV0", "passphrase": "secret", "bundle_id": "com.example"], "certificate",
            ["bundle_id": "com.example"]
        ),
        ("fcm", ["service_account": account], "service_account", ["project_id": "cheese-1"]),
        ("wns", ["package_sid": "ms-app://S-1-15-2-1", "client_secret": "secret"], "package", [:]),
        ("wns", ["tenant_id": "t", "client_id": "c", "client_secret": "secret"], "tenant", [:]),
        ("mpns", [:], "none", [:]),
        ("mpns", ["certificate": .string(pem), "private_key": .string(pem)], "certificate", [:]),
        ("webpush", ["subject": "mailto:a@example.com"], "vapid", ["subject": "mailto:a@example.com", "newest": true]),
    ]

    @Test(
        "of every network are stored, listed as they were answered, and their secrets are never shown", arguments: forms
    )
    func put(form: (path: String, body: JSON, kind: String, facts: JSON)) async throws {
        try await Fixture.open { fixture in
            let put = try await fixture.admin(.put, "…/credentials/\(form.path)", form.body)
            try #require(put.status == 200, "\(put.text)")
            #expect(put["kind"] == .string(form.kind))
            #expect(put["health"] == ["state": "unknown"])
            for (name, value) in form.facts.objectValue?.pairs.map({ ($0, $1) }) ?? [] { #expect(put[name] == value) }
            let list = try await fixture.admin(.get, "…/credentials")
            #expect(list["items"]?.arrayValue?.map(\.text) == [put.text])
            let audit = try await fixture.admin(.get, "…/audit")
            #expect(audit["items.0.action"] == "credential.put")
            for secret in ["secret", "c2Vj", "BEGIN"] {
                #expect(!(put.text + list.text + audit.text).contains(secret))
            }
        }
    }

    static let refusals: [(path: String, body: String, code: String, field: String)] = [
        ("fcm", "{}", "missing_field", "service_account"),
        ("fcm", #"{"service_account":"{}"}"#, "invalid_field", "service_account"),
        ("fcm", #"{"server_key":"AAAA"}"#, "invalid_field", "server_key"),
        ("fcm", #"{"service_account":{}}"#, "missing_field", "service_account.project_id"),
        ("fcm", #"{"service_account":{"type":"authorized_user"}}"#, "invalid_field", "service_account.type"),
        ("fcm", #"{"service_account":{"project_id":"a/b"}}"#, "invalid_field", "service_account.project_id"),
        (
            "fcm", account(tokenURI: "https://evil.example/token"), "invalid_field", "service_account.token_uri"
        ),
        ("wns", "{}", "missing_field", "package_sid"),
        ("wns", #"{"package_sid":"s","tenant_id":"t","client_secret":"x"}"#, "invalid_field", "package_sid"),
        ("wns", #"{"package_sid":"ms-app://S 1","client_secret":"x"}"#, "invalid_field", "package_sid"),
        ("wns", #"{"package_sid":"ms-app://S-1"}"#, "missing_field", "client_secret"),
        ("wns", #"{"package_sid":"ms-app://S-1","client_secret":"a\u0000b"}"#, "invalid_field", "client_secret"),
        ("wns", #"{"tenant_id":"t","client_secret":"x"}"#, "missing_field", "client_id"),
        ("wns", #"{"tenant_id":"t/..","client_id":"c","client_secret":"x"}"#, "invalid_field", "tenant_id"),
        ("mpns", #"{"certificate":"-----BEGIN "}"#, "missing_field", "private_key"),
        ("mpns", #"{"private_key":"-----BEGIN "}"#, "missing_field", "certificate"),
        ("mpns", #"{"certificate":"x","private_key":"-----BEGIN "}"#, "invalid_field", "certificate"),
        ("webpush", "{}", "missing_field", "subject"),
        ("webpush", #"{"subject":"a@example.com"}"#, "invalid_field", "subject"),
        ("webpush", #"{"subject":"mailto:"}"#, "invalid_field", "subject"),
        ("webpush", #"{"subject":"mailto:a@b","private_key":""}"#, "invalid_field", "private_key"),
        ("webpush", #"{"subject":"mailto:a@b","private_key":"A\u0000"}"#, "invalid_field", "private_key"),
        ("apns/sandbox", #"{"kind":"p12","data":"!","bundle_id":"b"}"#, "invalid_field", "data"),
        ("apns/sandbox", #"{"kind":"p12","data":"","bundle_id":"b"}"#, "invalid_field", "data"),
        (
            "apns/sandbox", #"{"kind":"p12","data":"\#(String(repeating: "A", count: 65_540))","bundle_id":"b"}"#,
            "invalid_field", "data"
        ),
        (
            "apns/sandbox", #"{"kind":"p12","data":"AAAA","passphrase":"\u0007","bundle_id":"b"}"#, "invalid_field",
            "passphrase"
        ),
        ("apns/sandbox", #"{"kind":"certificate","bundle_id":"b"}"#, "missing_field", "certificate"),
        (
            "apns/sandbox",
            #"{"kind":"certificate","certificate":"-----BEGIN \u0000","private_key":"-----BEGIN "}"#,
            "invalid_field", "certificate"
        ),
        (
            "apns/sandbox",
            #"{"kind":"token","key_id":"K","team_id":"T","bundle_id":"b","private_key":"-----BEGIN \#(long)"}"#,
            "invalid_field", "private_key"
        ),
    ]

    private static let long = String(repeating: "A", count: 16 * 1024)

    private static func account(tokenURI: String) -> String {
        var members = account.objectValue ?? .init()
        members["token_uri"] = .string(tokenURI)
        return (["service_account": .object(members)] as JSON).text
    }

    @Test("that are invalid are refused with the field", arguments: refusals)
    func refused(case item: (path: String, body: String, code: String, field: String)) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.adminText(.put, "…/credentials/\(item.path)", item.body)
            #expect(reply.code == item.code, "\(reply.text)")
            #expect(reply.field == item.field, "\(reply.text)")
            #expect(reply.status == 400)
            #expect(try await fixture.census()["credentials"] == 0)
        }
    }

    @Test("of Web Push accumulate: each key is listed and may be deleted alone, and the last one ends the credential")
    func vapidKeys() async throws {
        try await Fixture.open { fixture in
            var fingerprints: [String] = []
            for name in ["a", "b", "c"] {
                let put = try await fixture.admin(
                    .put, "…/credentials/webpush", ["subject": .string("mailto:\(name)@example.com")])
                #expect(put["public_key"] == .string(FakeProvider.publicKey(at: fixture.clock.now)))
                #expect(put["newest"] == true)
                fingerprints.append(try #require(put["fingerprint"]?.stringValue))
                fixture.clock.advance(by: .seconds(60))
            }
            func listed() async throws -> [JSON] {
                try await fixture.admin(.get, "…/credentials")["items"]?.arrayValue ?? []
            }
            #expect(try await listed().map { $0["fingerprint"]?.stringValue } == fingerprints)
            #expect(try await listed().map { $0["newest"] == true } == [false, false, true])
            let page = try await fixture.admin(.get, "…/credentials?limit=2")
            #expect(page["items"]?.arrayValue?.count == 2)
            let rest = try await fixture.admin(
                .get, "…/credentials?limit=2&cursor=\(page["next_cursor"]?.stringValue ?? "")")
            #expect(rest["items.0.fingerprint"] == .string(fingerprints[2]) && rest["next_cursor"]?.isNull == true)

            #expect(try await fixture.admin(.delete, "…/credentials/webpush/\(fingerprints[2])").status == 204)
            #expect(try await fixture.admin(.delete, "…/credentials/webpush/\(fingerprints[2])").status == 404)
            #expect(try await listed().map { $0["newest"] == true } == [false, true])
            for fingerprint in fingerprints.prefix(2) {
                #expect(try await fixture.admin(.delete, "…/credentials/webpush/\(fingerprint)").status == 204)
            }
            #expect(try await listed() == [])
            _ = try await fixture.admin(.put, "…/credentials/webpush", ["subject": "https://example.com"])
            #expect(try await fixture.admin(.delete, "…/credentials/webpush").status == 204)
            #expect(try await listed() == [])
        }
    }

    @Test("of Web Push are limited to the length of a list of keys")
    func tooManyKeys() async throws {
        try await Fixture.open { fixture in
            for number in 0...Limits.vapidKeysMax {
                let put = try await fixture.admin(.put, "…/credentials/webpush", ["subject": "mailto:a@example.com"])
                #expect(put.status == (number < Limits.vapidKeysMax ? 200 : 409), "\(put.text)")
                fixture.clock.advance(by: .seconds(1))
            }
        }
    }

    @Test(
        "that expire have a warning",
        arguments: [
            (-31, nil), (-5, nil), (0, "expires in 10 days"), (3, "expires in 7 days"),
            (9, "expires in 1 day"), (10, "expired"), (11, "expired"),
        ] as [(Int, String?)])
    func warning(days: Int, text: String?) async throws {
        try await Fixture.open { fixture in
            let put = try await fixture.admin(.put, "…/credentials/apns/production", Self.forms[1].body)
            let at = fixture.clock.now + .seconds(Int64(days) * 86_400)
            let records = try await fixture.store.read { try $0.endingCredentials(limit: 9) }
            let expected = days < -20 ? nil : days < 0 ? "expires in \(10 - days) days" : text
            #expect(records.first?.record.warning(at: at) == expected)
            #expect(put["warning"] == "expires in 10 days")
            #expect(put["expires_at"] == "2026-12-01T00:00:00Z")
        }
    }

    @Test(
        "are verified with the provider, whose answer is returned and stored",
        arguments: [
            (.accepted, true, "ok"), (.refused, false, "stopped"), (.unreachable, .null, "unknown"),
            (.unverifiable, .null, "unknown"),
        ] as [(CredentialVerification.Result, JSON, String)])
    func verify(result: CredentialVerification.Result, isGood: JSON, state: String) async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", Self.forms[0].body)
            let changes = fixture.engine.record.withLock { $0.credentialChanges.count }
            fixture.provider.verification.withLock {
                $0.answer = .init(result, status: 403, reason: "InvalidProviderToken", detail: "a sentence")
            }
            let reply = try await fixture.admin(.post, "…/credentials/apns/sandbox/verify")
            #expect(reply.status == 200)
            #expect(
                reply.json == [
                    "result": .string(result.rawValue), "ok": isGood, "status": 403,
                    "reason": "InvalidProviderToken", "detail": "a sentence",
                ])
            let list = try await fixture.admin(.get, "…/credentials")
            #expect(list["items.0.health.state"] == .string(state))
            let isReopened = fixture.engine.record.withLock { $0.credentialChanges.count } == changes + 1
            #expect(isReopened == (result == .accepted))
        }
    }

    @Test("are verified once by a repeated request, and not at all if there are none")
    func verifyOnce() async throws {
        try await Fixture.open { fixture in
            let path = "…/credentials/apns/sandbox/verify"
            #expect(try await fixture.admin(.post, path).status == 404)
            #expect(try await fixture.admin(.post, "…/credentials/apns/verify").code == "method_not_allowed")
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", Self.forms[0].body)
            let first = try await fixture.admin(.post, path, headers: ["Idempotency-Key": "k"])
            let second = try await fixture.admin(.post, path, headers: ["Idempotency-Key": "k"])
            #expect(first["status"]?.isNull == true && first["reason"]?.isNull == true)
            #expect(second.text == first.text && second.header("Idempotent-Replayed") == "true")
            #expect(fixture.provider.verification.withLock { $0.count } == 1)
        }
    }

    @Test("are refused without the scope manage")
    func scope() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native")
            for (method, path) in [
                (HTTPRequest.Method.get, "credentials"), (.put, "credentials/fcm"), (.delete, "credentials/fcm"),
                (.post, "credentials/fcm/verify"), (.delete, "credentials/webpush/x"),
            ] {
                let reply = try await fixture.call(
                    method, "\(fixture.path)/\(path)", body: method == .get ? nil : "{}",
                    authorization: "Bearer \(key["token"]?.stringValue ?? "")")
                #expect(reply.status == 403, "\(path)")
            }
        }
    }

    @Test("that are stopped are named in the trail of a device that waits for them")
    func stoppedTrail() async throws {
        try await Fixture.open { fixture in
            let device = "10000000-0000-4000-8000-000000000001"
            _ = try await fixture.admin(
                .put, "…/devices/\(device)",
                ["platform": "ios", "environment": "sandbox", "address": .string(Fixture.deviceToken)])
            _ = try await fixture.admin(.put, "…/credentials/apns/sandbox", Self.forms[0].body)
            fixture.provider.verification.withLock { $0.answer = .init(.refused, reason: "ExpiredKey", detail: "") }
            _ = try await fixture.admin(.post, "…/credentials/apns/sandbox/verify")
            let sent = try await fixture.admin(
                .post, "…/messages", ["audience": ["all": true], "content": ["title": "x"]])
            let trail = try await fixture.admin(
                .get, "…/messages/\(sent["id"]?.stringValue ?? "")/deliveries?device=\(device)")
            #expect(
                trail["items.1.detail"]
                    == .string(
                        "sending; no result from a network yet; "
                            + "apns sandbox has been stopped since 2026-11-21T00:00:00Z: ExpiredKey"), "\(trail.text)")
        }
    }
}
