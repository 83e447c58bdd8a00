import Logging
import NIOHTTP1
import PealCore
import PealTesting
import Testing

@testable import PealProviders

@Suite("WNS over HTTP")
struct WNSProviderTests {
    private static let storeApp = Credential.wns(
        .storeApp(packageSID: "ms-app://s-1-15-2-1", clientSecret: "a b&c=d/é+"))
    private static let tenant = Credential.wns(.tenant(tenantID: "tenant-1", clientID: "client", clientSecret: "s"))
    private static let grant = #"{"access_token":"AT","token_type":"bearer","expires_in":"86399"}"#

    private func provider(
        _ peer: HTTPPeer, time: any TimeSource = ManualTime(), logger: Logger = quiet
    ) throws -> WNSProvider {
        let vendors = AddressRules()
        return try WNSProvider(
            WNSConfiguration(
                tokenURL: peer.url + "/accesstoken.srf", tenantTokenURL: peer.url + "/{tenant_id}/oauth2/v2.0/token",
                addressRules: AddressRules(hosts: [.wns: vendors.hosts(of: .wns) + ["127.0.0.1:\(peer.port)"]])),
            .test(time, logger: logger))
    }

    private func notification(_ change: (inout Content) -> Void = { _ in }, life: Duration = .seconds(2000)) throws
        -> Notification
    {
        var content = Content()
        content.body = .plain("B")
        change(&content)
        return try WNSRendering.notification(WindowsOrders.order(content, on: .wns, life: life))
    }

    private static func isToken(_ request: HTTPPeer.Request) -> Bool {
        request.target == "/accesstoken.srf" || request.target.hasSuffix("/oauth2/v2.0/token")
    }

    @Test("a 405 is Peal's own mistake: the messages are rejected, and one error is logged")
    func malformed() async throws {
        let peer = try HTTPPeer { Self.isToken($0) ? .reply(200, [], Self.grant) : .reply(405) }
        let log = RecordedLog()
        let provider = try provider(peer, logger: log.logger(.error))
        let order = requestOrder(
            (0..<5).map { "\(peer.url)/?token=\($0)" }, notifications: [try notification()],
            credential: Self.storeApp)
        provider.send(order)
        await expectTally(order.flight.completed().tally, ["verdict MethodNotAllowed": 5])
        await provider.close()
        #expect(log.take().map(\.message) == ["the provider refuses Peal's requests"])
    }

    @Test("requests an access token once, and sends each channel its own request", arguments: [storeApp, tenant])
    func sending(credential: Credential) async throws {
        let peer = try HTTPPeer { request in
            Self.isToken(request) ? .reply(200, [], Self.grant) : .reply(200, [("X-WNS-Status", "received")])
        }
        let time = ManualTime(now: WindowsOrders.now)
        let provider = try provider(peer, time: time)
        time.advance(.seconds(500))
        let order = requestOrder(
            (0..<20).map { "\(peer.url)/?token=AQ%2f\($0)" }, notifications: [try notification()],
            credential: credential)
        provider.send(order)
        await expectTally(order.flight.completed().tally, ["accepted": 20])
        let asked = peer.requests.filter(Self.isToken)
        #expect(asked.count == 1)
        let form = String(decoding: try #require(asked.first).body, as: UTF8.self)
        #expect(asked.first?["content-type"] == "application/x-www-form-urlencoded")
        if credential == Self.storeApp {
            #expect(
                form == "grant_type=client_credentials&client_id=ms-app%3A%2F%2Fs-1-15-2-1"
                    + "&client_secret=a%20b%26c%3Dd%2F%C3%A9%2B&scope=notify.windows.com")
        } else {
            #expect(asked.first?.target == "/tenant-1/oauth2/v2.0/token")
            #expect(form.hasSuffix("client_secret=s&scope=https%3A%2F%2Fwns.windows.com%2F.default"))
        }
        let sent = peer.requests.filter { !Self.isToken($0) }
        #expect(Set(sent.map(\.target)) == Set((0..<20).map { "/?token=AQ%2f\($0)" }))
        #expect(Set(sent.compactMap { $0["ms-cv"] }).count == 20)
        for request in sent {
            #expect(request.version == .http1_1 && request["content-length"] == String(request.body.count))
            #expect(request["transfer-encoding"] == nil && request["expect"] == nil)
            #expect(request["authorization"] == "Bearer AT")
            #expect(request["x-wns-type"] == "wns/toast" && request["content-type"] == "text/xml")
            #expect(request.headers["x-wns-ttl"] == ["1500"])
            #expect(request["x-wns-requestforstatus"] == "true" && request["x-wns-priority"] == "1")
            #expect(request["ms-cv"]?.utf8.count == 18)
        }
        await provider.close()
    }

    @Test("the remaining lifetime is computed when a request is sent, and an expired message is not cached")
    func life() throws {
        let tile = try notification { $0.set(#"{"type":"tile"}"#, on: .windows) }
        for (after, ttl, policy) in [(0, "2000", "cache"), (1999, "1", "cache"), (2000, "0", "no-cache")] {
            let headers = WNSExchange.headers(tile, now: WindowsOrders.now + .seconds(after))
            #expect(headers["x-wns-ttl"] == [ttl] && headers["x-wns-cache-policy"] == [policy])
        }
    }

    @Test("a channel that is not on an allowed host gets nothing, and keeps its address")
    func hosts() async throws {
        let peer = try HTTPPeer { Self.isToken($0) ? .reply(200, [], Self.grant) : .reply(200) }
        let provider = try provider(peer)
        let order = requestOrder(
            ["\(peer.url)/?token=a", "http://127.0.0.1:1/?token=a", "https://evil.example/?token=a", "nonsense"],
            notifications: [try notification()], credential: Self.storeApp)
        provider.send(order)
        let answers = await order.flight.completed()
        #expect(answers.tally == ["accepted": 1, "verdict HostNotAllowed": 3])
        #expect(answers.answer(1)?.result == .verdict(.rejectMessage))
        await provider.close()
    }

    @Test("a refused access token is replaced once; a second refusal stops the app", arguments: [true, false])
    func refusedToken(isMended: Bool) async throws {
        let peer = try HTTPPeer { request in
            guard !Self.isToken(request) else {
                return .reply(200, [], #"{"access_token":"AT","expires_in":86400}"#)
            }
            return isMended && request.target == "/?token=late" ? .reply(200) : .reply(401)
        }
        let provider = try provider(peer)
        let order = requestOrder(
            ["\(peer.url)/?token=a"], notifications: [try notification()], credential: Self.storeApp)
        provider.send(order)
        let answer = await order.flight.completed().answer(0)
        #expect(answer == ProviderAnswer(.verdict(.stopApp), reason: "Unauthorized", status: 401))
        #expect(peer.requests.filter(Self.isToken).count == 2)
        await provider.close()
    }

    @Test("a channel that WNS refuses although it accepts the others does not stop the app")
    func refusedChannel() async throws {
        let peer = try HTTPPeer { request in
            guard !Self.isToken(request) else { return .reply(200, [], Self.grant) }
            return .reply(request.target == "/?token=7" ? 401 : 200)
        }
        let provider = try provider(peer)
        for _ in 0..<2 {
            // The provider has accepted others before, or does so meanwhile.
            for channels in [0..<7, 0..<20] {
                let order = requestOrder(
                    channels.map { "\(peer.url)/?token=\($0)" }, notifications: [try notification()],
                    credential: Self.storeApp)
                provider.send(order)
                let answers = await order.flight.completed()
                #expect(answers.tally["accepted"] == min(channels.count, 19))
                guard channels.count > 7 else { continue }
                #expect(answers.answer(7)?.reason == "Unauthorized")
                let verdicts: [Verdict] = [.rejectMessage, .holdAddress(after: .seconds(600))]
                #expect(verdicts.contains { answers.answer(7)?.result == .verdict($0) })
            }
        }
        #expect(peer.requests.filter(Self.isToken).count == 2)
        await provider.close()
    }

    @Test("a refused credential stops the app with the endpoint's reason, and nothing is sent")
    func badCredential() async throws {
        let peer = try HTTPPeer { _ in .reply(400, [], #"{"error":"invalid_client","error_description":"no"}"#) }
        let provider = try provider(peer)
        let order = requestOrder(
            (0..<5).map { "\(peer.url)/?token=\($0)" }, notifications: [try notification()],
            credential: Self.storeApp)
        provider.send(order)
        let tally = await order.flight.completed().tally
        #expect(tally["verdict invalid_client", default: 0] >= 1)
        #expect(tally["verdict invalid_client", default: 0] + tally["unsent RouteStopped", default: 0] == 5)
        #expect(peer.requests.filter { !Self.isToken($0) }.isEmpty)
        await provider.close()
    }

    @Test(
        "the headers contain the state",
        arguments: [
            (200, [("X-WNS-Status", "dropped")], "Dropped"),
            (200, [("X-WNS-NotificationStatus", "Dropped")], "Dropped"),
            (200, [("X-WNS-Status", "ChannelThrottled")], "ChannelThrottled"),
            (200, [("X-WNS-DeviceConnectionStatus", "disconnected")], "Disconnected"),
            (410, [("X-WNS-Error-Description", "Domain Blocked")], "DomainBlocked"),
            (406, [("Retry-After", "17")], "NotAcceptable"),
        ])
    func headers(status: Int, fields: [(String, String)], reason: String) async throws {
        let peer = try HTTPPeer { Self.isToken($0) ? .reply(200, [], Self.grant) : .reply(status, fields) }
        let provider = try provider(peer)
        let order = requestOrder(
            ["\(peer.url)/?token=a"], notifications: [try notification()], credential: Self.storeApp)
        provider.send(order)
        let answer = try #require(await order.flight.completed().answer(0))
        #expect(answer.reason == reason && answer.status == status)
        if status == 406 { #expect(answer.result == .verdict(.holdApp(after: .seconds(17)))) }
        await provider.close()
    }

    @Test("verify requests an access token and reports the result")
    func verify() async throws {
        let good = try HTTPPeer { _ in .reply(200, [], Self.grant) }
        let bad = try HTTPPeer { _ in
            .reply(401, [], #"{"error":"invalid_client","error_description":"AADSTS7000215: bad secret"}"#)
        }
        let down = try HTTPPeer { _ in .reply(503) }
        let accepted = try await provider(good).verify(Self.tenant, fingerprint: "f", environment: .production)
        #expect(accepted.result == .accepted && accepted.status == 200)
        #expect(accepted.detail.contains("access token was granted"))
        #expect(good.requests.map(\.target) == ["/tenant-1/oauth2/v2.0/token"])
        let refused = try await provider(bad).verify(Self.storeApp, fingerprint: "f", environment: .production)
        #expect(refused.result == .refused && refused.status == 401 && refused.reason == "invalid_client")
        #expect(refused.detail.contains("AADSTS7000215"))
        let unreachable = try await provider(down).verify(Self.storeApp, fingerprint: "f", environment: .production)
        #expect(unreachable.result == .unreachable && unreachable.status == 503)
    }

    @Test("a failing credential affects no other: queue, connections and access token are its own")
    func isolation() async throws {
        let peer = try HTTPPeer { request in
            if Self.isToken(request) { return .reply(200, [], Self.grant) }
            return request.target.hasPrefix("/?token=slow") ? .silence : .reply(200)
        }
        let provider = try provider(peer)
        let slow = requestOrder(
            (0..<200).map { "\(peer.url)/?token=slow\($0)" }, notifications: [try notification()],
            credential: Self.storeApp, fingerprint: "slow")
        let quick = requestOrder(
            (0..<200).map { "\(peer.url)/?token=quick\($0)" }, notifications: [try notification()],
            credential: Self.tenant, fingerprint: "quick")
        provider.send(slow)
        provider.send(quick)
        await expectTally(quick.flight.completed().tally, ["accepted": 200])
        // On a busy machine the first silent requests may have timed out, but the queue behind them still waits.
        #expect(!slow.flight.answers.isComplete)
        await provider.close()
        #expect(slow.flight.answers.isComplete)
        let late = requestOrder(["\(peer.url)/?token=a"], notifications: [try notification()], credential: Self.tenant)
        provider.send(late)
        #expect(late.flight.answers.tally == ["unsent Draining": 1])
    }

    @Test(
        "examines both generations' credentials",
        arguments: [
            (Credential.WNSClient.storeApp(packageSID: "S-1-15-2-1", clientSecret: "s"), "package_sid"),
            (.storeApp(packageSID: "ms-app://", clientSecret: "s"), "package_sid"),
            (.storeApp(packageSID: "ms-app://a/../b", clientSecret: "s"), "package_sid"),
            (.storeApp(packageSID: "ms-app://s-1-15-2-1", clientSecret: ""), "client_secret"),
            (.storeApp(packageSID: "ms-app://s-1-15-2-1", clientSecret: "a\nb"), "client_secret"),
            (.tenant(tenantID: "a/b", clientID: "c", clientSecret: "s"), "tenant_id"),
            (.tenant(tenantID: "..", clientID: "c", clientSecret: "s"), "tenant_id"),
            (.tenant(tenantID: "a", clientID: "", clientSecret: "s"), "client_id"),
            (.tenant(tenantID: "a", clientID: "c", clientSecret: String(repeating: "s", count: 1025)), "client_secret"),
        ])
    func examine(credential: Credential.WNSClient, field: String) throws {
        let provider = try provider(try HTTPPeer { _ in .reply(200) })
        let error = #expect(throws: PealError.self) { try provider.examine(.wns(credential), now: WindowsOrders.now) }
        #expect(error?.code == .invalidField && error?.field == field)
        let facts = try provider.examine(Self.tenant, now: WindowsOrders.now).facts
        #expect(facts == JSON.Members([("tenant_id", "tenant-1"), ("client_id", "client")]))
        #expect(throws: PealError.self) {
            try provider.examine(.mpns(.init(identity: nil)), now: WindowsOrders.now)
        }
    }

    @Test(
        "token URLs use https, or are on this machine",
        arguments: [
            ("http://login.live.com/a", WNSConfiguration.tenantTokenURLDefault, false),
            (WNSConfiguration.tokenURLDefault, "ftp://login.microsoftonline.com/{tenant_id}", true),
            (WNSConfiguration.tokenURLDefault, "", true),
        ])
    func configuration(tokenURL: String, tenantTokenURL: String, isTenant: Bool) {
        let error = #expect(throws: WNSConfigurationError.self) {
            try WNSConfiguration(tokenURL: tokenURL, tenantTokenURL: tenantTokenURL).check()
        }
        #expect(error?.isTenant == isTenant)
        #expect(throws: Never.self) { try WNSConfiguration().check() }
    }
}
