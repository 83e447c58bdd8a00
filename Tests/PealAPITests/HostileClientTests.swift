import HTTPTypes
import Logging
import PealCore
import PealTesting
import Testing

@testable import PealAPI

/// Requests of clients that guess, flood, or send more than they may.
@Suite("Hostile clients")
struct HostileClientTests {
    @Test("a large body of an unauthenticated client is refused before it is parsed")
    func strangersBody() async throws {
        try await Fixture.open { fixture in
            // Not JSON after the beginning: a parser would answer 400.
            for size in [
                Limits.parsedAtOnceBytesMax, Limits.unknownCallerBodyBytesMax, Limits.unnamedCallerBodyBytesMax,
            ] {
                let filler = String(repeating: "[],", count: size / 3 + 1)
                for start in [#"{"user_token":"unknown","#, "{"] {
                    let reply = try await fixture.call(
                        .post, "/api/v1/push/send", body: "\(start)\"audience\":[\(filler)", authorization: nil)
                    #expect(reply.status == 401, "\(reply.text)")
                }
            }
        }
    }

    @Test("a known caller's large body is read, with the token in the query or at the beginning")
    func knownBody() async throws {
        try await Fixture.open { fixture in
            let secret = try #require(try await fixture.key("devtodev")["user_token"]?.stringValue)
            let filler = String(repeating: "[],", count: Limits.unknownCallerBodyBytesMax / 3 + 1)
            for (start, query) in [(#"{"user_token":"\#(secret)","#, ""), ("{", "?user_token=\(secret)")] {
                let reply = try await fixture.call(
                    .post, "/api/v1/push/send\(query)", body: "\(start)\"audience\":[\(filler)", authorization: nil)
                #expect(reply.status == 400, "\(reply.text)")
            }
        }
    }

    @Test("one client network, and one app, holds only its share of the memory for bodies")
    func bodyShares() throws {
        let budget = BodyBudget()
        func client(_ network: String) -> ClientAddress { ClientAddress(text: network, network: network) }
        func refused(_ share: BodyBudget.Share, _ count: Int, isUnknown: Bool) -> Bool {
            (try? share.take(count, isUnknown: isUnknown)) == nil
        }
        let most = Limits.unknownBodyBytesHeldMax / Limits.bodyBudgetShares
        let first = budget.share(of: client("192.0.2.1"), app: nil)
        #expect(!refused(first, most, isUnknown: true))
        #expect(refused(budget.share(of: client("192.0.2.1"), app: nil), 1, isUnknown: true))
        #expect(!refused(budget.share(of: client("192.0.2.2"), app: nil), most, isUnknown: true))
        first.becomeKnown()
        #expect(!refused(budget.share(of: client("192.0.2.1"), app: nil), 1, isUnknown: true))

        let whole = Limits.bodyBytesHeldMax / Limits.bodyBudgetShares
        #expect(refused(budget.share(of: client("192.0.2.1"), app: nil), whole - most, isUnknown: false))
        first.release()
        #expect(!refused(budget.share(of: client("192.0.2.1"), app: 1), whole - 1, isUnknown: false))
        #expect(refused(budget.share(of: client("192.0.2.3"), app: 1), 2, isUnknown: false))
        #expect(!refused(budget.share(of: client("192.0.2.3"), app: 2), 2, isUnknown: false))
    }

    @Test("a long answer takes memory until it has been read")
    func longAnswers() throws {
        let budget = BodyBudget()
        let count = Limits.bodyBytesHeldMax / Limits.bodyBudgetShares / 2 + 1
        func answer(changesNothing: Bool = true) throws -> Answer {
            let client = ClientAddress(text: "192.0.2.1", network: "192.0.2.1")
            var answer = Answer(.ok, bytes: [UInt8](repeating: 0x20, count: count), type: "text/plain")
            try answer.count(
                in: BodyHold(budget.share(of: client, app: nil)), changesNothing: changesNothing)
            return answer
        }
        let first = try answer()
        #expect(throws: PealError.self) { _ = try answer() }
        _ = try answer(changesNothing: false)
        withExtendedLifetime(first) {}
    }

    @Test("the memory of a long answer is free again when nothing refers to it")
    func forgottenAnswers() throws {
        let budget = BodyBudget()
        let client = ClientAddress(text: "192.0.2.1", network: "192.0.2.1")
        let count = Limits.bodyBytesHeldMax / Limits.bodyBudgetShares
        for _ in 0..<2 {
            var answer = Answer(.ok, bytes: [UInt8](repeating: 0x20, count: count), type: "text/plain")
            try answer.count(in: BodyHold(budget.share(of: client, app: nil)), changesNothing: true)
        }
    }

    @Test("a page of a list ends with the item that reaches the limit of bytes")
    func longPages() throws {
        let list = try NativeList(Query("limit=200"), by: .number)
        let item = JSON.string(String(repeating: "a", count: Limits.listBytesMax / 4))
        let answer = list.answer(Array(1...10), cursor: { NativeList.bytes($0) }, json: { _ in item })
        let json = try JSONParser.parse(answer.body)
        #expect(json["items"]?.arrayValue?.count == 4)
        #expect(json["next_cursor"]?.stringValue == Base64URL.encode(NativeList.bytes(4)))
    }

    @Test(
        "a known caller's large body is read with the token behind the audience",
        arguments: ["", "?user_token=replaced"])
    func tokenBehindAudience(query: String) async throws {
        try await Fixture.open { fixture in
            let secret = try #require(try await fixture.key("devtodev")["user_token"]?.stringValue)
            for size in [
                Limits.unknownCallerBodyBytesMax, 2 * Limits.unknownCallerBodyBytesMax,
                8 * Limits.unknownCallerBodyBytesMax,
            ] {
                let filler = String(repeating: "[],", count: size / 3 + 1)
                let reply = try await fixture.call(
                    .post, "/api/v1/push/send\(query)",
                    body: "{\"audience\":[\(filler)[]],\"user_token\":\"\(secret)\",\"ios\"", authorization: nil)
                #expect(reply.status == 400, "\(size) \(reply.text)")
            }
        }
    }

    @Test("a guess at the beginning of a body is counted before the rest is received")
    func guessAtTheBeginning() async throws {
        let clock = ManualTime()
        let failures = AuthenticationFailures(
            perMinute: 2, time: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await Fixture.open(failures: failures) { fixture in
            let secret = try #require(try await fixture.key("devtodev")["user_token"]?.stringValue)
            let gatekeeper = Gatekeeper(fixture.services)
            func admit(_ beginning: String, query: Substring = "") async throws -> Bool {
                let visit = Visit(
                    requestID: "r", address: ClientAddress(text: "192.0.2.1", network: "192.0.2.1"),
                    at: fixture.clock.now)
                return try await gatekeeper.admitUnread(
                    Array(beginning.utf8), query: Query(query), .userToken, visit, secretMayFollow: true)
            }
            // The one in the query may be replaced by the body.
            for _ in 0..<3 { #expect(try await !admit("{", query: "user_token=guess")) }
            #expect(failures.snapshot.failures == 0)
            for number in 1...2 {
                // The key of another app, which may follow, may have it.
                #expect(try await !admit(#"{"user_token":"guess","#))
                #expect(failures.snapshot.failures == number)
            }
            // From then on, nothing is looked up for this address.
            for (beginning, query) in [(#"{"user_token":"\#(secret)","#, ""), ("{", "user_token=\(secret)")] {
                let refusal = await #expect(throws: PealError.self) { try await admit(beginning, query: query[...]) }
                #expect(refusal?.code == .rateLimited)
            }
            clock.advance(by: .seconds(60))
            #expect(try await admit(#"{"user_token":"\#(secret)","#))
        }
    }

    @Test("a large body counts once against its key's quota", arguments: [1, 20])
    func quotaOfLargeBody(multiple: Int) async throws {
        try await Fixture.open(options: APIOptions { $0.requestsPerKeyPerSecond = 2 }) { fixture in
            let secret = try #require(try await fixture.key("devtodev")["user_token"]?.stringValue)
            let filler = String(repeating: "x", count: multiple * Limits.unknownCallerBodyBytesMax)
            for number in 0...4 {
                let reply = try await fixture.call(
                    .post, "/api/v1/push/send", body: "{\"user_token\":\"\(secret)\",\"filler\":\"\(filler)\"}",
                    authorization: nil)
                #expect(reply.status == (number < 4 ? 404 : 429), "\(number): \(reply.text)")
            }
        }
    }

    @Test("a wrong token in a large body counts once as a failure", arguments: [1, 20])
    func failureOfLargeBody(multiple: Int) async throws {
        let failures = AuthenticationFailures(
            perMinute: 3, time: ManualTime(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await Fixture.open(failures: failures) { fixture in
            let filler = String(repeating: "x", count: multiple * Limits.unknownCallerBodyBytesMax)
            for number in 0...3 {
                let reply = try await fixture.call(
                    .post, "/api/v1/push/send",
                    body: "{\"user_token\":\"guess \(number)\",\"filler\":\"\(filler)\"}", authorization: nil)
                #expect(reply.status == (number < 3 ? 401 : 429), "\(number): \(reply.text)")
            }
            #expect(failures.snapshot.failures == 3)
        }
    }

    @Test("an empty token in a large body counts as absent, and the one in the query applies")
    func emptyToken() async throws {
        try await Fixture.open { fixture in
            let secret = try #require(try await fixture.key("devtodev")["user_token"]?.stringValue)
            for size in [Limits.unknownCallerBodyBytesMax, 4 * Limits.unknownCallerBodyBytesMax] {
                let filler = String(repeating: "[],", count: size / 3 + 1)
                let reply = try await fixture.call(
                    .post, "/api/v1/push/send?user_token=\(secret)",
                    body: "{\"user_token\":\"\",\"audience\":[\(filler)", authorization: nil)
                #expect(reply.status == 400, "\(reply.text)")
            }
        }
    }

    @Test("too many JSON values are refused with 413")
    func values() async throws {
        try await Fixture.open(options: APIOptions { $0.jsonValuesMax = 100 }) { fixture in
            let many = try await fixture.adminText(
                .post, "/peal/v1/apps", #"{"name":["# + String(repeating: "1,", count: 100) + "1]}")
            #expect(many.status == 413)
            #expect(many.code == "body_too_large")
            #expect(try await fixture.admin(.post, "/peal/v1/apps", ["name": "Few"]).status == 201)
        }
    }

    @Test(
        "a body in an encoding other than gzip is refused with 415 in every dialect",
        arguments: ["br", "GZIP, identity"])
    func compressed(encoding: String) async throws {
        try await Fixture.open { fixture in
            for path in ["/peal/v1/apps", "/api/v1/push/send"] {
                let reply = try await fixture.call(
                    .post, path, body: #"{"name":"a"}"#, authorization: "Bearer \(Fixture.adminToken)",
                    headers: ["Content-Encoding": encoding])
                #expect(reply.status == 415, "\(reply.text)")
            }
            let plain = try await fixture.admin(
                .post, "/peal/v1/apps", ["name": "a"], headers: ["Content-Encoding": "identity"])
            #expect(plain.status == 201)
        }
    }

    @Test("an app cannot take another app's id of a dialect", arguments: ["richie_app_id", "devtodev_app_id"])
    func takenIDs(name: String) async throws {
        try await Fixture.open { fixture in
            let victim = try await fixture.admin(.post, "/peal/v1/apps", ["name": "Victim", "\(name)": "victims"])
            let thief = try #require(
                try await fixture.admin(.post, "/peal/v1/apps", ["name": "Thief"])["id"]?.stringValue)
            let victimID = try #require(victim["id"]?.stringValue)
            for id in ["victims", "VICTIMS", victimID, victimID.uppercased()] {
                for (method, path) in [("PATCH", "/peal/v1/apps/\(thief)"), ("POST", "/peal/v1/apps")] {
                    let body: JSON = .object(JSON.Members([("name", "Thief"), (name, .string(id))]))
                    let reply = try await fixture.admin(method == "POST" ? .post : .patch, path, body)
                    #expect(reply.status == 409, "\(id): \(reply.text)")
                    #expect(reply.code == "conflict")
                    #expect(reply.field == name)
                }
            }
            // The owner may state what it has, or change it.
            for id in ["victims", "Victims", "others", victimID] {
                let body: JSON = .object(JSON.Members([(name, .string(id))]))
                #expect(try await fixture.admin(.patch, "/peal/v1/apps/\(victimID)", body).status == 200)
            }
        }
    }

    @Test("a secret that is easy to guess is refused, unless an admin supplies it")
    func weakSecrets() async throws {
        try await Fixture.open { fixture in
            let manager = try await fixture.key("native", [("scopes", ["send", "read", "devices", "manage"])])
            let bearer = "Bearer \(manager["token"]?.stringValue ?? "")"
            let weak: [(String, JSON)] = [
                ("password", ["dialect": "richie", "username": "ann", "password": "summer-2026"]),
                ("token", ["dialect": "contextpush", "token": "CTX-1"]),
                ("user_token", ["dialect": "devtodev", "user_token": .string(String(repeating: "0", count: 64))]),
                ("shared_secret", ["dialect": "device", "shared_secret": .string(String(repeating: "ab", count: 32))]),
            ]
            for (name, body) in weak {
                let refused = try await fixture.call(
                    .post, "\(fixture.path)/keys", body: body.text, authorization: bearer)
                #expect(refused.status == 400, "\(refused.text)")
                #expect(refused.code == "invalid_field")
                #expect(refused.field == name)
                let allowed = try await fixture.admin(.post, "…/keys", body)
                #expect(allowed.status == 201, "\(allowed.text)")
                #expect(allowed.header("Warning")?.contains("\(name) is easy to guess") == true)
            }
            let strong: JSON = ["dialect": "contextpush", "token": "CTX-9fQx2Lr7TnVb3mKpZ8sW"]
            let made = try await fixture.call(.post, "\(fixture.path)/keys", body: strong.text, authorization: bearer)
            // A key grants no scope that it lacks; this one has those of ContextPush.
            #expect(made.status == 201, "\(made.text)")
            #expect(made.header("Warning") == nil)
        }
    }

    @Test("a webhook uses port 443, or a port or host that the configuration lists")
    func webhookPorts() throws {
        let rules = WebhookRules(allowedHosts: ["listed.example:9443", "127.0.0.1"], allowedPorts: [8443])
        for url in [
            "https://a.example/", "https://a.example:443/", "https://a.example:8443/", "https://listed.example:9443/",
            "https://127.0.0.1:5000/", "http://127.0.0.1:5000/",
        ] {
            #expect(throws: Never.self) { try rules.target(url) }
        }
        for url in ["https://a.example:22/", "https://a.example:8080/", "https://listed.example:9444/"] {
            let refusal = #expect(throws: PealError.self) { try rules.target(url) }
            #expect(refusal?.field == "url")
        }
        #expect(throws: PealError.self) { try WebhookRules().target("https://a.example:8443/") }
    }

    @Test("requests of a key are limited, until time has passed")
    func quotas() async throws {
        try await Fixture.open(options: APIOptions { $0.requestsPerKeyPerSecond = 2 }) { fixture in
            let secret = try #require(try await fixture.key("native")["token"]?.stringValue)
            func ask() async throws -> Fixture.Reply {
                try await fixture.call(.get, fixture.path, authorization: "Bearer \(secret)")
            }
            for _ in 0..<4 { #expect(try await ask().status == 200) }
            let refused = try await ask()
            #expect(refused.status == 429)
            #expect(refused.header("Retry-After") == "1")
            // The admin has no quota.
            #expect(try await fixture.admin(.get, "…").status == 200)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await ask().status == 200)
        }
    }

    @Test("requests of an app are limited, however many keys it has")
    func quotaOfApp() async throws {
        try await Fixture.open(options: APIOptions { $0.requestsPerAppPerSecond = 2 }) { fixture in
            var secrets: [String] = []
            for _ in 0..<2 { secrets.append(try #require(try await fixture.key("native")["token"]?.stringValue)) }
            var statuses: [Int] = []
            for number in 0..<6 {
                let bearer = "Bearer \(secrets[number % 2])"
                statuses.append(try await fixture.call(.get, fixture.path, authorization: bearer).status)
            }
            #expect(statuses == [200, 200, 200, 200, 429, 429])
        }
    }
}
