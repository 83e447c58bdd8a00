import HTTPTypes
import PealCore
import PealTesting
import Testing

@testable import PealAPI

/// The audit log: changes, sends and refusals.
@Suite("The audit log of requests")
struct AuditTests {
    private static func rows(_ fixture: Fixture, _ query: String = "") async throws -> [JSON] {
        let reply = try await fixture.admin(.get, "/peal/v1/audit\(query)")
        return try #require(reply["items"]?.arrayValue, "\(reply.text)")
    }

    private static let message: JSON = ["audience": ["all": true], "content": ["title": "Hello"]]

    @Test("a row names actor, address, request, app, action, object, outcome and hash")
    func row() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("name", "backend")])
            let token = try #require(key["token"]?.stringValue)
            let sent = try await fixture.call(
                .post, "\(fixture.path)/messages", body: Self.message.text, authorization: "Bearer \(token)")
            #expect(sent.status == 202, "\(sent.text)")
            let row = try #require(try await Self.rows(fixture, "?action=message.send").first)
            #expect(row["actor"] == key["id"])
            #expect(row["actor_name"] == "backend")
            #expect(row["request_id"]?.stringValue == sent.header("X-Request-Id"))
            #expect(row["app"] == .string(fixture.app.description))
            #expect(row["object"] == .string("message \(sent["id"]?.stringValue ?? "")"))
            #expect(row["outcome"] == "ok")
            #expect(row["hash"]?.stringValue?.count == 64)
            #expect(
                row.objectValue?.names == [
                    "id", "at", "actor", "actor_name", "address", "request_id", "app", "action", "object", "outcome",
                    "hash",
                ])
        }
    }

    @Test("pausing, resuming, cancelling, and every change of a device, topic, key, app and admin has a row")
    func changes() async throws {
        try await Fixture.open { fixture in
            let start = fixture.clock.now + .seconds(3600)
            let later: JSON = [
                "audience": ["all": true], "content": ["title": "Hello"],
                "schedule": ["at": .string(start.description)],
            ]
            let id = try #require(try await fixture.admin(.post, "…/messages", later)["id"]?.stringValue)
            for verb in ["pause", "cancel"] {
                _ = try await fixture.admin(.post, "…/messages/\(id)/\(verb)")
            }
            let device = "00000000-0000-4000-8000-0000000000d1"
            _ = try await fixture.admin(
                .put, "…/devices/\(device)", ["platform": "ios", "address": .string(Fixture.deviceToken)])
            _ = try await fixture.admin(.patch, "…/devices/\(device)", ["locale": "de"])
            _ = try await fixture.admin(.put, "…/devices/\(device)/topics/news")
            _ = try await fixture.admin(.delete, "…/devices/\(device)")
            _ = try await fixture.admin(.put, "…/topics/cheese", [:])
            _ = try await fixture.admin(.delete, "…/topics/cheese")
            _ = try await fixture.admin(.patch, "…", ["name": "Blue cheese"])
            let admin = try await fixture.admin(.post, "/peal/v1/admins", ["name": "Ada"])
            _ = try await fixture.admin(.delete, "/peal/v1/admins/\(admin["id"]?.stringValue ?? "")")
            _ = try await fixture.admin(.delete, "…")
            let actions = try await Self.rows(fixture).reversed().compactMap { $0["action"]?.stringValue }
            #expect(
                actions == [
                    "message.send", "message.pause", "message.cancel", "device.put", "device.change", "device.topics",
                    "device.delete", "topic.put", "topic.delete", "app.change", "admin.create", "admin.revoke",
                    "app.delete",
                ])
            // The app is gone, but its rows remain.
            let own = try await Self.rows(fixture, "?app=\(fixture.app)")
            #expect(own.count == 11)
            #expect(own.allSatisfy { $0["app"] == .string(fixture.app.description) })
            #expect(try await fixture.admin(.post, "/peal/v1/audit:verify")["ok"] == true)
        }
    }

    @Test("refused authentications and scopes have rows, without paths or secrets")
    func refusals() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("scopes", ["read"]), ("name", "reader")])
            let token = try #require(key["token"]?.stringValue)
            _ = try await fixture.call(.get, "\(fixture.path)/topics", authorization: "Bearer wrong-secret-1")
            _ = try await fixture.call(
                .delete, "\(fixture.path)/users/alice", authorization: "Bearer \(token)")
            let reply = try await fixture.admin(.get, "/peal/v1/audit")
            let rows = try #require(reply["items"]?.arrayValue).filter { $0["outcome"] == "refused" }
            #expect(rows.map { $0["action"] } == ["scope.refused", "authentication.refused"])
            #expect(rows[0]["actor"] == key["id"])
            #expect(rows[0]["object"] == "DELETE /peal/v1/apps/:app/users/:user")
            #expect(rows[1]["actor"] == "nobody")
            #expect(rows.allSatisfy { $0["app"] == .string(fixture.app.description) })
            for secret in ["wrong-secret-1", "alice", token] { #expect(!reply.text.contains(secret)) }
        }
    }

    @Test("refusals and uses of keys that could not be written are written later")
    func unwritten() async throws {
        try await Fixture.open(wrapping: { ObservedStore($0) }) { fixture in
            let store = try #require(fixture.store as? ObservedStore)
            let recorder = AccessRecorder(fixture.services)
            let token = try await fixture.key("native", [("scopes", ["read"])])["token"]?.stringValue ?? ""
            try await recorder.write()
            let refused = try await fixture.call(.get, fixture.path, authorization: "Bearer nonsense")
            #expect(refused.status == 401)
            _ = try await fixture.call(.get, fixture.path, authorization: "Bearer \(token)")
            store.refuseBackgroundWrites(1)
            await #expect(throws: PealError.self) { try await recorder.write() }
            try await recorder.write()
            #expect(try await Self.rows(fixture, "?action=authentication.refused").count == 1)
            let keys = try await fixture.admin(.get, "…/keys")
            #expect(keys["items.0.last_used_at"]?.stringValue == fixture.clock.now.description)
        }
    }

    @Test("a known caller on a path that is not its own is named in the row of its refusal")
    func misplaced() async throws {
        try await DeviceFixture.open { server in
            let fixture = server.fixture
            let device = try await fixture.key("device", [("name", "phones")])
            let native = try await fixture.key("native", [("name", "backend")])
            let phone = try await server.phone()
            let calls: [(path: String, secret: String?, actor: JSON?, name: JSON)] = [
                ("\(fixture.path)/webhooks", device["token"]?.stringValue, device["id"], "phones"),
                ("\(fixture.path)/topics", phone.token, .string("device \(phone.device)"), .null),
                ("/peal/device/v1/registration", native["token"]?.stringValue, native["id"], "backend"),
                ("/peal/device/v1/registration", device["token"]?.stringValue, device["id"], "phones"),
                ("/peal/device/v1/registration", Fixture.adminToken, "admin", .null),
                ("/v1/geofences", native["token"]?.stringValue, native["id"], "backend"),
            ]
            for call in calls {
                let secret = try #require(call.secret)
                let reply = try await fixture.call(.get, call.path, authorization: "Bearer \(secret)")
                #expect(reply.status == 403, "\(call.path): \(reply.text)")
                let rows = try await Self.rows(fixture, "?action=scope.refused")
                let row = try #require(rows.first, "\(call.path)")
                #expect(row["actor"] == call.actor && row["actor_name"] == call.name, "\(call.path): \(row.text)")
            }
            #expect(try await Self.rows(fixture, "?action=authentication.refused").isEmpty)
        }
    }

    @Test("what a device changes about itself has rows without its address")
    func ownChanges() async throws {
        try await DeviceFixture.open { server in
            let phone = try await server.phone()
            #expect(try await server.call(.put, "topics/news", as: phone.token).status == 204)
            #expect(try await server.call(.delete, "registration", as: phone.token).status == 204)
            let rows = try await Self.rows(server.fixture)
            let own = rows.filter { $0["actor"] == .string("device \(phone.device)") }
            #expect(own.map { $0["action"] } == ["device.delete", "device.topics"])
            #expect(own.allSatisfy { $0["address"] == .null })
            #expect(rows.first { $0["action"] == "key.create" }?["address"]?.stringValue != nil)
        }
    }

    @Test("a flood of refusals makes a bounded number of rows that count all of them")
    func flood() async throws {
        try await Fixture.open { fixture in
            let recorder = AccessRecorder(fixture.services)
            for _ in 1...5 {
                for number in 1...200 {
                    _ = try await fixture.call(
                        .get, "\(fixture.path)/topics", authorization: "Bearer wrong-\(number)")
                }
                try await recorder.write()
                fixture.clock.advance(by: .seconds(10))
            }
            fixture.clock.advance(by: .seconds(60))
            let rows = try await Self.rows(fixture)
            #expect(rows.count == 2)
            #expect(rows[0]["object"]?.stringValue?.hasSuffix("800 times") == true, "\(rows)")
        }
    }

    @Test("refusals of many clients on many paths do not fill the log")
    func bounded() async throws {
        try await Fixture.open { fixture in
            let refusals = fixture.services.refusals
            var rows = 0
            for minute in 0..<60 {
                for client in 0..<1000 {
                    let visit = Visit(
                        requestID: "r", address: ClientAddress(text: "192.0.2.\(client % 250)", network: "\(minute)"),
                        at: fixture.clock.now)
                    visit.matched(
                        Endpoint(.get, "/route\(client)", .everybody) { _ in Answer(.ok) }, [:])
                    refusals.note(
                        PealError(.unauthorized, ""), visit, method: "GET", at: fixture.clock.now)
                }
                rows += refusals.takeDue().count
                fixture.clock.advance(by: .seconds(60))
            }
            #expect(rows <= Refusals.rowsAtOnce + 60 * Refusals.rowsPerMinute)
        }
    }

    @Test("is exported as JSON lines, oldest first, that prove their order")
    func export() async throws {
        try await Fixture.open { fixture in
            for name in ["a", "b", "c"] { _ = try await fixture.key("native", [("name", .string(name))]) }
            let reply = try await fixture.admin(.get, "…/audit", headers: ["Accept": "application/x-ndjson"])
            #expect(reply.header("Content-Type") == "application/x-ndjson")
            let rows = reply.text.split(separator: "\n").compactMap { try? JSONParser.parse(String($0)) }
            #expect(rows.count == 3)
            #expect(rows.map { $0["at"]?.stringValue ?? "" } == rows.map { $0["at"]?.stringValue ?? "" }.sorted())
            #expect(rows.allSatisfy { $0["hash"]?.stringValue?.count == 64 })
        }
    }

    @Test("is exported as a whole: parameters of a page are refused", arguments: ["limit", "cursor"])
    func exportOfAPage(name: String) async throws {
        try await Fixture.open { fixture in
            for key in ["a", "b"] { _ = try await fixture.key("native", [("name", .string(key))]) }
            let cursor = try await fixture.admin(.get, "…/audit?limit=1")["next_cursor"]?.stringValue ?? ""
            let query = name == "limit" ? "limit=1" : "cursor=\(cursor)"
            for path in ["/peal/v1/audit", "…/audit"] {
                let reply = try await fixture.admin(
                    .get, "\(path)?\(query)", headers: ["Accept": "application/x-ndjson"])
                #expect(reply.status == 400 && reply.code == "invalid_field" && reply.field == name, "\(reply.text)")
                #expect(try await fixture.admin(.get, "\(path)?\(query)").status == 200)
            }
        }
    }

    @Test(
        "refuses invalid filters",
        arguments: [
            ("from=yesterday", "from"), ("to=1", "to"), ("app=cheese", "app"), ("cursor=!", "cursor"),
            ("from=2026-11-24T00:00:00Z&to=2026-11-23T00:00:00Z", "from"),
        ])
    func filters(query: String, field: String) async throws {
        try await Fixture.open { fixture in
            for path in ["/peal/v1/audit", "…/audit"] where field != "app" || path != "…/audit" {
                let reply = try await fixture.admin(.get, "\(path)?\(query)")
                #expect(reply.status == 400)
                #expect(reply.field == field)
            }
        }
    }

    @Test("lists the rows of a period")
    func times() async throws {
        try await Fixture.open { fixture in
            _ = try await fixture.admin(.put, "…/topics/cheese", [:])
            let (now, later) = (fixture.clock.now, fixture.clock.now + .seconds(1))
            #expect(try await Self.rows(fixture, "?from=\(now)&to=\(later)").count == 1)
            // RFC 3339 §5.6 allows a space between date and time, and plus signs are often not escaped.
            let (start, end) = ("\(now)".replacing("T", with: "%20"), "\(later)".replacing("Z", with: "+00:00"))
            #expect(try await Self.rows(fixture, "?from=\(start)&to=\(end)").count == 1)
            #expect(try await Self.rows(fixture, "?to=\(now)").isEmpty)
        }
    }
}
