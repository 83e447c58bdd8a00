import PealCore
import PealNetwork
import Testing

@testable import PealProviders

@Suite("The Web Push provider")
struct WebPushProviderTests {
    /// A provider that may send to `peer`.
    private func provider(
        _ certificates: TestDirectory, hosts: [String], isOpen: Bool = false,
        resolver: any HostResolver = ScriptedResolver([])
    ) -> WebPushProvider {
        // It does not move, so that the remaining lifetime is known.
        let time = ManualTime()
        return WebPushProvider(
            WebPushConfiguration(
                addressRules: AddressRules(hosts: [.webpush: hosts], open: isOpen ? [.webpush] : []),
                caFile: certificates.file("cert.pem")),
            .test(time), hosts: GuardedHosts(resolver: resolver, addressGuard: AddressGuard(), time: time))
    }

    /// Sends a greeting to one browser for each path of a peer.
    private func send(
        to paths: [String], script: @escaping @Sendable (HTTPPeer.Request) -> HTTPPeer.Action
    ) async throws -> (answers: [Int: ProviderAnswer], requests: [HTTPPeer.Request], browsers: [TestBrowser]) {
        let certificates = try TestDirectory.certificates()
        let peer = try HTTPPeer(certificates: certificates, script)
        let provider = provider(certificates, hosts: ["localhost:\(peer.port)"])
        let browsers = paths.map { TestBrowser(endpoint: "https://localhost:\(peer.port)\($0)") }
        let order = testWebOrder(
            browsers, keys: [try testVAPIDKey()], notification: try testWebNotification())
        provider.send(order)
        let answers = await order.flight.completed()
        await provider.close()
        return (answers.exceptions, peer.requests, browsers)
    }

    @Test("sends each browser what only it can read")
    func page() async throws {
        let paths = (0..<40).map { "/\($0)" }
        let (answers, requests, browsers) = try await send(to: paths) { _ in .reply(201, [("location", "/m/1")]) }
        #expect(answers.isEmpty)
        #expect(Set(requests.map(\.target)) == Set(paths))
        for request in requests {
            let browser = browsers[try #require(Int(request.target.dropFirst()))]
            #expect(String(decoding: try browser.decrypt(request.body), as: UTF8.self).contains("Hello"))
            #expect(request["content-length"] == String(request.body.count))
            #expect(request["ttl"] == "3600")
        }
        #expect(Set(requests.compactMap { $0["authorization"] }).count == 1)
    }

    @Test("judges each answer, and follows no redirect")
    func answers() async throws {
        let (answers, requests, _) = try await send(to: ["/ok", "/gone", "/moved", "/large", "/mismatch", "/down"]) {
            switch $0.target {
            case "/ok": .reply(202)
            case "/gone": .reply(410, [], #"{"errno":106}"#)
            case "/moved": .reply(307, [("location", "/ok")])
            case "/large": .reply(413)
            case "/mismatch": .reply(403, [], #"{"reason":"VapidPkHashMismatch"}"#)
            default: .reply(500)
            }
        }
        #expect(requests.count == 6)
        #expect(
            answers == [
                1: ProviderAnswer(
                    .verdict(.retireAddress(since: nil, isSuspicious: false)), reason: "Errno106", status: 410),
                2: ProviderAnswer(.verdict(.rejectMessage), reason: "Status307", status: 307),
                3: ProviderAnswer(.verdict(.rejectMessage), reason: "Status413", status: 413),
                4: ProviderAnswer(
                    .verdict(.retireAddress(since: nil, isSuspicious: true)), reason: "VapidPkHashMismatch", status: 403
                ),
                5: ProviderAnswer(.verdict(.retry(after: nil)), reason: "Status500", status: 500),
            ])
    }

    @Test("signs again when it is refused, and stops the app when that is refused too")
    func refused() async throws {
        let (answers, requests, _) = try await send(to: ["/x"]) { _ in .reply(403, [], #"{"reason":"BadJwtToken"}"#) }
        #expect(answers == [0: ProviderAnswer(.verdict(.stopApp), reason: "BadJwtToken", status: 403)])
        #expect(Set(requests.compactMap { $0["authorization"] }).count == 2)
        #expect(requests.count == 2)
        // A salt that is used twice with one key would reveal the text.
        #expect(Set(requests.map { Array($0.body.prefix(86)) }).count == 2)
    }

    @Test("sends nothing to an origin that asks for a pause")
    func throttled() async throws {
        let (answers, requests, _) = try await send(to: (0..<300).map { "/\($0)" }) { _ in
            .reply(429, [("retry-after", "120")])
        }
        #expect(answers.count == 300)
        #expect(requests.count < 300)
        let isHeld = answers.values.allSatisfy { answer in
            switch answer.result {
            case .verdict(.holdAddress(let after)), .held(let after): after == .seconds(120)
            default: false
            }
        }
        #expect(isHeld)
    }

    @Test("resolves no name on the way to a private address")
    func privateAddress() async throws {
        let certificates = try TestDirectory.certificates()
        let provider = provider(certificates, hosts: [], isOpen: true, resolver: ScriptedResolver(["127.0.0.1"]))
        let order = testWebOrder(
            [TestBrowser(endpoint: "https://up.example.org/x")], keys: [try testVAPIDKey()],
            notification: try testWebNotification())
        provider.send(order)
        let answers = await order.flight.completed().exceptions
        #expect(answers == [0: ProviderAnswer(.verdict(.rejectMessage), reason: "PrivateAddress")])
        await provider.close()
    }

    @Test("checks the key of a subscription")
    func check() throws {
        let provider = provider(try TestDirectory.certificates(), hosts: [])
        #expect(throws: Never.self) { try provider.check(TestBrowser().address) }
        let zeros = String(repeating: "A", count: 86)
        for publicKey in ["B\(zeros)", "A\(zeros)"] {
            let json: JSON = [
                "endpoint": "https://push.example.net/x",
                "keys": ["p256dh": .string(publicKey), "auth": "AAAAAAAAAAAAAAAAAAAAAA"],
            ]
            let error = #expect(throws: PealError.self) {
                try provider.check(Address(route: .webPush, bytes: json.bytes))
            }
            #expect(error?.code == .invalidField)
            #expect(error?.field == "address.keys.p256dh")
        }
    }

    @Test("accepts plain and padded base64 for a subscription's keys")
    func plainBase64() throws {
        let provider = provider(try TestDirectory.certificates(), hosts: [])
        let browser = TestBrowser(secret: Array(repeating: 0xFF, count: 16))
        let text = browser.json.text.replacing("-", with: "+").replacing("_", with: "/")
            .replacing(#""}}"#, with: #"=="}}"#)
        let rules = AddressRules(hosts: [.webpush: [".example.net"]])
        let address = try rules.address(try JSONParser.parse(text), platform: .web, environment: .production)
        #expect(throws: Never.self) { try provider.check(address) }
        #expect(WebPushSubscription(address.bytes)?.receiver.authenticationSecret == browser.secret)
    }

    @Test("verifies only whether keys can sign")
    func verify() async throws {
        let provider = provider(try TestDirectory.certificates(), hosts: [])
        func result(_ keys: [Credential.VAPIDKey]) async -> CredentialVerification.Result {
            await provider.verify(.webPush(keys), fingerprint: "web", environment: .production).result
        }
        let key = try testVAPIDKey()
        var broken = key
        broken.privateKey = "AAAA"
        #expect(await result([key]) == .unverifiable)
        #expect(await result([key, broken]) == .refused)
    }

    @Test("examines VAPID keys alone")
    func examine() throws {
        let provider = provider(try TestDirectory.certificates(), hosts: [])
        let key = Credential.VAPIDKey(subject: "mailto:a@example.com", privateKey: "", createdAt: Timestamp(seconds: 1))
        #expect(try provider.examine(.webPush([key]), now: Timestamp(seconds: 2)).facts["public_key"] != nil)
        #expect(throws: PealError.self) {
            try provider.examine(.mpns(.init(identity: nil)), now: Timestamp(seconds: 2))
        }
    }

    @Test("sends nothing without a key, and nothing once it is closed")
    func closed() async throws {
        let provider = provider(try TestDirectory.certificates(), hosts: [])
        let notification = try testWebNotification()
        let without = testWebOrder([TestBrowser()], keys: [], notification: notification)
        provider.send(without)
        await expectTally(without.flight.completed().tally, ["unsent NoCredential": 1])
        await provider.close()
        let late = testWebOrder([TestBrowser()], keys: [try testVAPIDKey()], notification: notification)
        provider.send(late)
        await expectTally(late.flight.completed().tally, ["unsent Draining": 1])
    }
}
