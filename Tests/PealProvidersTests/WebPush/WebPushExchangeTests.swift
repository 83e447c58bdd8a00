import NIOHTTP1
import PealCore
import PealNetwork
import Synchronization
import Testing

@testable import PealProviders

/// Answers with what a test gives, one list after the other; the last one stays.
final class ScriptedResolver: HostResolver {
    private let state: Mutex<(answers: [[String]], count: Int)>

    init(_ answers: [String]...) { state = Mutex((answers, 0)) }

    var count: Int { state.withLock { $0.count } }

    func addresses(of host: String, for app: AppKey) async -> [IPAddress] {
        state.withLock { state in
            defer { state.count += 1 }
            return state.answers[min(state.count, state.answers.count - 1)].compactMap { IPAddress($0) }
        }
    }
}

@Suite("Web Push requests")
struct WebPushExchangeTests {
    private let time = ManualTime()

    private func exchange(
        _ keys: [Credential.VAPIDKey]? = nil, isOpen: Bool = false,
        hosts: [String] = [".example.net", "fcm.googleapis.com"],
        resolver: any HostResolver = ScriptedResolver(["93.184.216.34"])
    ) throws -> WebPushExchange {
        WebPushExchange(
            keys: try keys ?? [try testVAPIDKey()],
            rules: AddressRules(
                hosts: [.webpush: hosts + [".push.apple.com", ".notify.windows.com"]],
                open: isOpen ? [.webpush] : []),
            tokens: VAPIDTokens(time: time),
            hosts: GuardedHosts(resolver: resolver, addressGuard: AddressGuard(), time: time), time: time,
            randomness: SeededRandomness())
    }

    private func subject(
        _ browser: TestBrowser, _ notification: Notification? = nil
    ) throws -> RequestSubject {
        let order = testWebOrder([browser], keys: [], notification: try notification ?? testWebNotification())
        return RequestSubject(order: order, index: 0)
    }

    private func refusal(_ exchange: WebPushExchange, _ browser: TestBrowser) async throws -> ProviderAnswer {
        try await #require(throws: RequestRefusal.self) { try await exchange.request(for: try subject(browser)) }.answer
    }

    @Test("are encrypted and signed for the push service, and state their lifetime")
    func request() async throws {
        let browser = TestBrowser(endpoint: "https://Push.Example.net:443/a/b?c=d")
        let exchange = try exchange()
        let request = try await exchange.request(for: try subject(browser))
        #expect(request.url == "https://push.example.net/a/b?c=d")
        #expect(request.method == .POST)
        #expect(request.address == nil)
        let text = try browser.decrypt(request.body)
        #expect(String(decoding: text, as: UTF8.self) == #"{"title":"Hello","body":"World"}"#)
        #expect(
            request.headers.map(\.name)
                == ["TTL", "Urgency", "Content-Encoding", "Content-Type", "Authorization"])
        #expect(request.headers["TTL"] == ["3600"])
        #expect(request.headers["Urgency"] == ["high"])
        #expect(request.headers["Content-Encoding"] == ["aes128gcm"])
        #expect(request.headers["Content-Type"] == ["application/octet-stream"])
        let claims = try #require(request.headers["Authorization"].first?.split(separator: ".").dropFirst().first)
        let audience = try JSONParser.parse(try #require(Base64URL.decode(claims)))["aud"]
        #expect(audience == "https://push.example.net")
    }

    @Test("each have their own salt and key")
    func freshness() async throws {
        let exchange = try exchange()
        let subject = try subject(TestBrowser())
        let first = try await exchange.request(for: subject)
        let second = try await exchange.request(for: subject)
        #expect(first.body[..<16] != second.body[..<16])
        #expect(first.body[21..<86] != second.body[21..<86])
        #expect(first.headers["Authorization"] == second.headers["Authorization"])
    }

    @Test("without a text have no body and no encoding")
    func empty() async throws {
        let notification = try testWebNotification { _, options in options.isBackground = true }
        let request = try await exchange().request(for: try subject(TestBrowser(), notification))
        #expect(request.body.isEmpty)
        #expect(request.headers.map(\.name) == ["TTL", "Urgency", "Authorization"])
    }

    @Test("state the remaining lifetime when they are sent")
    func life() async throws {
        let subject = try subject(TestBrowser())
        let exchange = try exchange()
        for (step, left) in [(600, "3000"), (2999, "1"), (1, "0"), (9999, "0")] {
            time.advance(.seconds(step))
            #expect(try await exchange.request(for: subject).headers["TTL"] == [left])
        }
    }

    @Test(
        "are adapted to the push service",
        arguments: [
            ("https://push.example.net/x", Int64(9_999_999), "2592000", "spike", false),
            ("https://fcm.googleapis.com/x", 9_999_999, "2419200", "spike", false),
            ("https://web.push.apple.com/x", 9_999_999, "2592000", WebPushRendering.digest("spike"), false),
            ("https://db5p.notify.windows.com/x", 0, "0", "spike", true),
            ("https://db5p.notify.windows.com/x", 60, "60", "spike", false),
            ("https://push.example.net/x", 0, "0", "spike", false),
        ])
    func quirks(endpoint: String, life: Int64, ttl: String, topic: String, isUncached: Bool) async throws {
        let notification = try testWebNotification(
            { _, options in
                options.collapseKey = "spike"
                if life == 0 { options.life = .seconds(0) }
            }, lifeSeconds: life)
        let request = try await exchange().request(for: try subject(TestBrowser(endpoint: endpoint), notification))
        #expect(request.headers["TTL"] == [ttl])
        #expect(request.headers["Topic"] == [topic])
        #expect(request.headers["X-WNS-Cache-Policy"] == (isUncached ? ["no-cache"] : []))
    }

    @Test("are signed with the key of the subscription, otherwise with the newest")
    func keys() async throws {
        let (old, new) = (
            try testVAPIDKey("mailto:push@example.com", 1), try testVAPIDKey("mailto:push@example.com", 2)
        )
        let exchange = try exchange([old, new])
        func key(_ serverKey: String?) async throws -> String? {
            let request = try await exchange.request(for: try subject(TestBrowser(serverKey: serverKey)))
            return request.headers["Authorization"].first?.split(separator: "=").last.map(String.init)
        }
        #expect(try await key(nil) == new.publicKey)
        #expect(try await key(new.publicKey) == new.publicKey)
        #expect(try await key(old.publicKey) == old.publicKey)
        let plain = old.publicKey.replacing("-", with: "+").replacing("_", with: "/") + "="
        #expect(try await key(plain) == old.publicKey)
        let unknown = try testVAPIDKey("mailto:push@example.com", 3).publicKey
        #expect(
            try await refusal(exchange, TestBrowser(serverKey: unknown))
                == ProviderAnswer(.verdict(.rejectMessage), reason: "UnknownApplicationServerKey"))
    }

    @Test(
        "are not sent to unlisted hosts",
        arguments: [
            "https://push.example.org/x", "https://example.net.evil.org/x", "http://push.example.net/x",
            "https://push.example.net:8443/x", "https://127.0.0.1/x", "https://localhost/x",
            "https://a@push.example.net/x",
        ])
    func hosts(endpoint: String) async throws {
        let answer = try await refusal(try exchange(), TestBrowser(endpoint: endpoint))
        #expect(answer == ProviderAnswer(.verdict(.rejectMessage), reason: "HostNotAllowed"))
    }

    @Test("are not made for a stored address with invalid keys")
    func badSubscription() async throws {
        for text in [#"{"endpoint":"https://push.example.net/x","keys":{"p256dh":"AAAA","auth":"AAAA"}}"#, "x", ""] {
            var page = DevicePage(through: 1, isLast: true, readAt: Timestamp(seconds: 0))
            Array(text.utf8).withUnsafeBytes { page.append(key: 1, address: $0, revision: 1, locale: 0) }
            let whole = testWebOrder([], keys: [], notification: try testWebNotification())
            let order = PageOrder(
                slice: whole.slice, credential: whole.credential, fingerprint: "web", page: page,
                notifications: whole.notifications, variants: [0], lane: .bulk, deadline: .seconds(1), control: .init())
            let exchange = try exchange()
            let error = await #expect(throws: RequestRefusal.self) {
                try await exchange.request(for: RequestSubject(order: order, index: 0))
            }
            #expect(error?.answer.result == .verdict(.retireAddress(since: nil, isSuspicious: true)))
            #expect(error?.answer.reason == "BadSubscription")
        }
    }

    @Test("name the origin of an address without reading the rest")
    func origins() throws {
        let exchange = try exchange()
        func origin(_ text: String) -> String { exchange.origin(of: Array(text.utf8)[...]) }
        #expect(exchange.origin(of: TestBrowser().address.bytes[...]) == "https://push.example.net")
        #expect(origin(#"{"endpoint":"https://A.example.net:8443/x""#) == "https://a.example.net:8443")
        for text in ["", "{}", #"{"endpoint":"#, #"{"endpoint":"https://a.example.net/\"x"}"#, #"{"endpoint":"x"}"#] {
            #expect(origin(text) == "")
        }
    }

    // Answers

    private func judge(
        _ exchange: WebPushExchange, _ status: Int, _ body: String = "", headers: HTTPHeaders = [:],
        endpoint: String = "https://push.example.net/abc"
    ) async throws -> RequestJudgement {
        let subject = try subject(TestBrowser(endpoint: endpoint))
        let request = try await exchange.request(for: subject)
        return await exchange.judge(
            OutboundReply(status: status, headers: headers, body: Array(body.utf8)), to: request, for: subject)
    }

    @Test("turn the answer into verdict, reason and status")
    func answers() async throws {
        let exchange = try exchange()
        #expect(try await judge(exchange, 201, headers: ["location": "https://x/m/1"]).answer == .accepted)
        #expect(try await judge(exchange, 202).answer == .accepted)
        let gone = try await judge(exchange, 410, #"{"errno":106}"#)
        #expect(
            gone.answer
                == ProviderAnswer(
                    .verdict(.retireAddress(since: nil, isSuspicious: false)), reason: "Errno106", status: 410))
        #expect(gone.originHold == nil)
        #expect(try await judge(exchange, 302, headers: ["location": "https://evil/"]).answer.reason == "Status302")
        #expect(
            try await judge(exchange, 503, headers: ["retry-after": "90"]).answer.result
                == .verdict(.retry(after: .seconds(90))))
    }

    @Test("pause for a whole origin that asks for it", arguments: [406, 429])
    func throttle(status: Int) async throws {
        let exchange = try exchange()
        let asked = try await judge(exchange, status, headers: ["retry-after": "120"])
        #expect(asked.originHold == .seconds(120))
        #expect(asked.answer.result == .verdict(.holdAddress(after: .seconds(120))))
        #expect(try await judge(exchange, status).originHold == .seconds(60))
    }

    @Test("pause for one subscription if Apple has had too many requests for it")
    func throttledSubscription() async throws {
        let asked = try await judge(exchange(), 429, #"{"reason":"TooManyRequests"}"#)
        #expect(asked.originHold == nil)
        #expect(asked.answer.result == .verdict(.holdAddress(after: .seconds(60))))
    }

    @Test("are signed again after a refusal", arguments: [401, 403])
    func resign(status: Int) async throws {
        let exchange = try exchange()
        let subject = try subject(TestBrowser())
        let first = try await exchange.request(for: subject)
        let reply = OutboundReply(status: status, headers: [:], body: [])
        #expect(await exchange.judge(reply, to: first, for: subject).answer.result == .verdict(.refreshCredential))
        let second = try await exchange.request(for: subject)
        #expect(second.headers["Authorization"] != first.headers["Authorization"])
        _ = await exchange.judge(reply, to: first, for: subject)
        #expect(try await exchange.request(for: subject).headers["Authorization"] == second.headers["Authorization"])
    }

    @Test("a refusal that no new signature helps stops the app only if nothing was accepted", arguments: [401, 403])
    func refusals(status: Int) async throws {
        let (here, elsewhere) = ("https://push.example.net/other", "https://web.push.apple.com/abc")
        let cases: [(before: String?, meanwhile: String?, verdict: Verdict)] = [
            (nil, nil, .stopApp), (here, nil, .holdAddress(after: .seconds(600))),
            (elsewhere, nil, .holdAddress(after: .seconds(600))), (nil, here, .rejectMessage),
        ]
        for (before, meanwhile, verdict) in cases {
            let exchange = try exchange()
            if let before { _ = try await judge(exchange, 201, endpoint: before) }
            #expect(try await judge(exchange, status).answer.result == .verdict(.refreshCredential))
            time.advance(.seconds(1))
            if let meanwhile { _ = try await judge(exchange, 201, endpoint: meanwhile) }
            let judgement = try await judge(exchange, status)
            #expect(judgement.answer.result == .verdict(verdict))
            #expect(judgement.originHold == nil)
        }
    }

    // The open mode

    @Test("are sent to any public host if the server is open, at the address that was checked")
    func open() async throws {
        let exchange = try exchange(isOpen: true, resolver: ScriptedResolver(["93.184.216.34", "2606:4700::1111"]))
        let request = try await exchange.request(for: try subject(TestBrowser(endpoint: "https://Up.example.org/x")))
        #expect(request.url == "https://up.example.org/x")
        #expect(request.address == IPAddress("93.184.216.34"))
        let listed = try await exchange.request(for: try subject(TestBrowser()))
        #expect(listed.address == nil)
        #expect(exchange.isUntrusted("https://up.example.org") && !exchange.isUntrusted("https://fcm.googleapis.com"))
    }

    @Test(
        "are not sent if any address of the host is not public",
        arguments: [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::1"], ["93.184.216.34", "::ffff:192.168.0.1"]])
    func privateAddresses(addresses: [String]) async throws {
        let resolver = ScriptedResolver(addresses)
        let exchange = try exchange(isOpen: true, resolver: resolver)
        let answer = try await refusal(exchange, TestBrowser(endpoint: "https://up.example.org/x"))
        #expect(answer == ProviderAnswer(.verdict(.rejectMessage), reason: "PrivateAddress"))
        #expect(resolver.count == 1)
    }

    @Test(
        "never resolve a name that is not public",
        arguments: [
            "https://127.0.0.1/x", "https://2130706433/x", "https://0x7f.1/x", "https://localhost/x",
            "https://router/x",
            "https://up.example.org:8443/x", "http://up.example.org/x", "https://[::1]/x",
        ])
    func noName(endpoint: String) async throws {
        let resolver = ScriptedResolver(["93.184.216.34"])
        let answer = try await refusal(try exchange(isOpen: true, resolver: resolver), TestBrowser(endpoint: endpoint))
        #expect(answer.reason == "HostNotAllowed")
        #expect(resolver.count == 0)
    }

    @Test("wait for a host that has no address")
    func noAddress() async throws {
        let exchange = try exchange(isOpen: true, resolver: ScriptedResolver([]))
        let answer = try await refusal(exchange, TestBrowser(endpoint: "https://up.example.org/x"))
        #expect(answer == ProviderAnswer(.verdict(.holdAddress(after: .zero)), reason: "NoAddress"))
    }

    @Test(
        "do not stop the app because an unlisted host refuses",
        arguments: [
            (403, "", "Status403"), (403, #"{"reason":"VapidPkHashMismatch"}"#, "VapidPkHashMismatch"),
            (401, #"{"errno":109,"message":"VAPID public key mismatch"}"#, "KeyMismatch"),
            (400, #"{"errno":101}"#, "Errno101"), (400, #"{"errno":1234567}"#, "Status400"),
            (400, #"{"reason":"MadeUp"}"#, "Status400"),
        ])
    func strangers(status: Int, body: String, reason: String) async throws {
        let exchange = try exchange(isOpen: true)
        let judgement = try await judge(exchange, status, body, endpoint: "https://up.example.org/x")
        #expect(judgement.answer == ProviderAnswer(.verdict(.rejectMessage), reason: reason, status: status))
        let gone = try await judge(exchange, 410, endpoint: "https://up.example.org/x")
        #expect(gone.answer.result == .verdict(.retireAddress(since: nil, isSuspicious: false)))
    }
}
