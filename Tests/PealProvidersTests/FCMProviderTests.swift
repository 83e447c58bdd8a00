import PealCore
import Testing

@testable import PealProviders

@Suite("FCM over HTTP/2", .serialized, .timeLimit(.minutes(10)))
struct FCMProviderTests {
    private let time = RealTime()

    private func provider(
        _ fcm: ScriptedFCM, _ tokens: TokenServer, rate: Int = 8000, startRate: Int = 2000, prefix: String = "",
        time: (any TimeSource)? = nil
    ) throws -> FCMProvider {
        try FCMProvider(
            FCMConfiguration(
                url: fcm.server.url + prefix, tokenAllowedHosts: ["127.0.0.1:\(tokens.port)"],
                caFile: fcm.server.directory.file("cert.pem"), connectionsPerPoolMax: 2, ratePerSecond: rate,
                startRatePerSecond: startRate),
            .test(time ?? self.time))
    }

    private func credential(_ tokens: TokenServer, project: String = "example-project") -> Credential {
        var account = testServiceAccount
        account.projectID = project
        account.tokenURI = tokens.uri
        return .fcm(account)
    }

    /// An order for devices `device-0`, `device-1`, …
    private func order(
        _ count: Int, _ provider: FCMProvider, _ credential: Credential, fingerprint: String = "f"
    ) throws -> PageOrder {
        var content = Content()
        content.title = .plain("Title")
        let now = Timestamp(seconds: 1_800_000_000)
        let notification = try provider.render(
            RenderOrder(
                message: MessageID(high: 1, low: 2), content: content, options: .init(), locale: nil, route: .fcm,
                providerAppID: credential.providerAppID, expiresAt: now + .seconds(60), now: now))
        var page = DevicePage(through: DeviceKey(count), isLast: true, readAt: now)
        for number in 0..<count {
            Array("device-\(number)".utf8).withUnsafeBytes {
                page.append(key: DeviceKey(number + 1), address: $0, revision: 1, locale: 0)
            }
        }
        return PageOrder(
            slice: Slice.ID(app: 1, message: MessageID(high: 1, low: 2), route: .fcm, rangeStart: 0, part: 0),
            credential: credential, fingerprint: fingerprint, page: page, notifications: [notification],
            variants: Array(repeating: 0, count: count), lane: .bulk, deadline: .seconds(100_000),
            control: SendControl())
    }

    private func send(_ count: Int, _ provider: FCMProvider, _ credential: Credential) async throws
        -> PageFlight.Answers
    {
        let order = try order(count, provider, credential)
        provider.send(order)
        return await order.flight.completed()
    }

    @Test("every device gets its own request, under one access token, at the project's path")
    func requests() async throws {
        let (fcm, tokens) = (try ScriptedFCM(), try TokenServer())
        let provider = try provider(fcm, tokens, prefix: "/fcm")
        try await expectTally(send(150, provider, credential(tokens)).tally, ["accepted": 150])
        try await expectTally(send(1, provider, credential(tokens)).tally, ["accepted": 1])
        await provider.close()
        let requests = fcm.requests
        #expect(tokens.requests.count == 1)
        #expect(
            tokens.requests[0].hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="))
        #expect(Set(requests.map(\.headers)).count == 1)
        let headers = try #require(requests.first?.headers)
        #expect(headers[":method"] == "POST")
        #expect(headers[":path"] == "/fcm/v1/projects/example-project/messages:send")
        #expect(headers["authorization"] == "Bearer granted-1")
        #expect(headers["content-type"] == "application/json")
        let devices = try requests.map {
            try JSONParser.parse(Array($0.body.utf8))["message"]?["token"]?.stringValue
        }
        #expect(Set(devices) == Set((0..<150).map { "device-\($0)" }))
    }

    @Test("answers become verdicts")
    func verdicts() async throws {
        let fcm = try ScriptedFCM { request in
            if request.body.contains("device-0") {
                return .init(
                    status: 404, fields: [("content-type", "application/json")],
                    body: #"{"error":{"code":404,"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}"#)
            }
            if request.body.contains("device-1") { return .init(status: 503, fields: [("retry-after", "12")]) }
            return .init(body: #"{"name":"projects/p/messages/1"}"#)
        }
        let tokens = try TokenServer()
        let provider = try provider(fcm, tokens)
        let answers = try await send(3, provider, credential(tokens)).exceptions
        await provider.close()
        #expect(
            answers == [
                0: ProviderAnswer(
                    .verdict(.retireAddress(since: nil, isSuspicious: false)), reason: "UNREGISTERED", status: 404),
                1: ProviderAnswer(.verdict(.retry(after: .seconds(12))), reason: "Status503", status: 503),
            ])
    }

    @Test("a refused service account stops the app before anything is sent")
    func invalidGrant() async throws {
        let fcm = try ScriptedFCM()
        let tokens = try TokenServer([(400, #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#)])
        let provider = try provider(fcm, tokens)
        let answers = try await send(3, provider, credential(tokens))
        await provider.close()
        #expect(
            answers.exceptions.values.allSatisfy {
                $0 == ProviderAnswer(.verdict(.stopApp), reason: "invalid_grant", status: 400)
            })
        #expect(answers.exceptions.count == 3)
        #expect(fcm.server.connectionCount == 0)
    }

    @Test("a failing token endpoint leaves everything unsent")
    func noToken() async throws {
        let fcm = try ScriptedFCM()
        let tokens = try TokenServer([(503, "")])
        let provider = try provider(fcm, tokens)
        try await expectTally(send(3, provider, credential(tokens)).tally, ["unsent Status503": 3])
        await provider.close()
    }

    @Test("a refused access token is replaced; the header table changes with it")
    func refusedToken() async throws {
        let fcm = try ScriptedFCM { request in
            request.headers["authorization"] == "Bearer granted-2" ? .init() : .init(status: 401)
        }
        let tokens = try TokenServer()
        let provider = try provider(fcm, tokens)
        let first = try await send(20, provider, credential(tokens))
        #expect(first.exceptions.values.allSatisfy { $0.result == .verdict(.refreshCredential) })
        #expect(first.exceptions.count == 20)
        try await expectTally(send(200, provider, credential(tokens)).tally, ["accepted": 200])
        await provider.close()
        #expect(tokens.requests.count == 2)
    }

    @Test("when the new one is refused too, the app stops")
    func refusedTwice() async throws {
        let fcm = try ScriptedFCM { _ in
            .init(status: 401, body: #"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#)
        }
        let tokens = try TokenServer()
        let provider = try provider(fcm, tokens)
        try await expectTally(send(1, provider, credential(tokens)).tally, ["verdict UNAUTHENTICATED": 1])
        let second = try await send(1, provider, credential(tokens)).exceptions[0]
        #expect(second == ProviderAnswer(.verdict(.stopApp), reason: "UNAUTHENTICATED", status: 401))
        let third = try await send(1, provider, credential(tokens)).exceptions[0]
        #expect(third == ProviderAnswer(.verdict(.stopApp), reason: "AccessTokenRefused", status: 401))
        await provider.close()
        #expect(fcm.requests.count == 2)
    }

    @Test("a project that is asked to wait waits, whatever credential it is reached by")
    func throttled() async throws {
        let fcm = try ScriptedFCM { _ in
            .init(
                status: 429, fields: [("retry-after", "100")],
                body:
                    #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"errorCode":"QUOTA_EXCEEDED"}]}}"#)
        }
        let tokens = try TokenServer()
        let provider = try provider(fcm, tokens, rate: 1, startRate: 1)
        let answers = try await send(5, provider, credential(tokens))
        #expect(answers.tally == ["verdict QUOTA_EXCEEDED": 1, "unsent Throttled": 4])
        let again = try order(1, provider, credential(tokens), fingerprint: "another")
        provider.send(again)
        let answer = try #require(await again.flight.completed().exceptions[0])
        guard case .verdict(.holdApp(let after)) = answer.result else {
            Issue.record("\(answer)")
            return
        }
        #expect(after > .seconds(80) && after <= .seconds(100))
        // Another project continues.
        let other = try order(1, provider, credential(tokens, project: "other"), fingerprint: "other")
        provider.send(other)
        await expectTally(other.flight.completed().tally, ["verdict QUOTA_EXCEEDED": 1])
        await provider.close()
        #expect(fcm.requests.count == 2)
    }

    @Test("the pace holds, and everything is sent in the end")
    func paced() async throws {
        let (fcm, tokens) = (try ScriptedFCM(), try TokenServer())
        let provider = try provider(fcm, tokens, rate: 400, startRate: 400)
        let begin = time.uptime
        try await expectTally(send(200, provider, credential(tokens)).tally, ["accepted": 200])
        // 20 at once, the others at 400 a second.
        #expect(time.uptime - begin >= .milliseconds(440))
        await provider.close()
        #expect(fcm.server.connectionCount == 1)
    }

    @Test("connections of a removed credential finish and refuse, and those of a new one replace them")
    func drain() async throws {
        let (fcm, tokens) = (try ScriptedFCM(), try TokenServer())
        let provider = try provider(fcm, tokens)
        try await expectTally(send(5, provider, credential(tokens)).tally, ["accepted": 5])
        provider.drain(fingerprint: "f")
        try await expectTally(send(5, provider, credential(tokens)).tally, ["accepted": 5])
        await provider.close()
        #expect(tokens.requests.count == 2)
        try await expectTally(send(5, provider, credential(tokens)).tally, ["unsent Draining": 5])
    }

    @Test("a credential of another kind, or with a token endpoint elsewhere, cannot be used")
    func foreign() async throws {
        let (fcm, tokens) = (try ScriptedFCM(), try TokenServer())
        let provider = try provider(fcm, tokens)
        var account = testServiceAccount
        account.tokenURI = "https://localhost:1/token"
        try await expectTally(send(1, provider, .fcm(account)).tally, ["unsent NoCredential": 1])
        try await expectTally(send(1, provider, .apnsToken(testCredential)).tally, ["unsent NoCredential": 1])
        #expect(throws: PealError.unsupported("kind")) {
            try provider.examine(.apnsToken(testCredential), now: time.now)
        }
        await provider.close()
    }

    @Test(
        "verification asks FCM about a device that does not exist",
        arguments: [
            (
                200, #"{"access_token":"a"}"#, 400, #"{"error":{"status":"INVALID_ARGUMENT"}}"#,
                CredentialVerification.Result.accepted, "INVALID_ARGUMENT"
            ),
            (
                200, #"{"access_token":"a"}"#, 404, #"{"error":{"details":[{"errorCode":"UNREGISTERED"}]}}"#, .accepted,
                "UNREGISTERED"
            ),
            (200, #"{"access_token":"a"}"#, 200, "{}", .accepted, ""),
            (
                200, #"{"access_token":"a"}"#, 403, #"{"error":{"status":"PERMISSION_DENIED"}}"#, .refused,
                "PERMISSION_DENIED"
            ),
            (200, #"{"access_token":"a"}"#, 401, "", .refused, "Status401"),
            (200, #"{"access_token":"a"}"#, 404, #"{"error":{"status":"NOT_FOUND"}}"#, .refused, "NOT_FOUND"),
            (200, #"{"access_token":"a"}"#, 503, "", .unreachable, "Status503"),
            (200, #"{"access_token":"a"}"#, 405, "", .unreachable, "Status405"),
            (400, #"{"error":"invalid_grant"}"#, 200, "", .refused, "invalid_grant"),
            (500, "", 200, "", .unreachable, "Status500"),
        ])
    func verify(
        tokenStatus: Int, tokenBody: String, status: Int, body: String, expected: CredentialVerification.Result,
        reason: String
    ) async throws {
        let fcm = try ScriptedFCM { _ in .init(status: status, body: body) }
        let tokens = try TokenServer([(tokenStatus, tokenBody)])
        let provider = try provider(fcm, tokens)
        let verification = await provider.verify(credential(tokens), fingerprint: "f", environment: .production)
        await provider.close()
        #expect(verification.result == expected)
        #expect(verification.reason == reason)
        if tokenStatus == 200 {
            let request = try #require(fcm.requests.first)
            let document = try JSONParser.parse(Array(request.body.utf8))
            #expect(document["validateOnly"] == true)
            #expect(document["message"]?["token"]?.stringValue?.isEmpty == false)
            #expect(request.headers["authorization"] == "Bearer a")
            #expect(request.headers[":path"] == "/v1/projects/example-project/messages:send")
        }
    }
}
