import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Answers requests from a script and keeps what was asked.
final class ScriptedExchange: HTTPExchange, @unchecked Sendable {
    // Sendable because all state is behind locks.
    let requests = Locked<[HTTPRequest]>([])
    let answer: Locked<@Sendable (HTTPRequest) throws -> HTTPResponse>
    /// What a request waits for.
    let delay = Locked<@Sendable (HTTPRequest) async -> Void>({ _ in })

    init(_ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse) { self.answer = Locked(answer) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        requests.with { $0.append(request) }
        await delay.now(request)
        try Task.checkCancellation()
        return try answer.now(request)
    }

    /// The last parts of the paths that were asked for.
    var calls: [String] { requests.now.map { "\($0.method) \($0.url.lastPathComponent)" } }
    func bodies(_ path: String) -> [String] {
        requests.now.filter { $0.url.lastPathComponent == path }.map {
            String(decoding: $0.body ?? Data(), as: UTF8.self)
        }
    }
}

@Suite("The SDK") struct MomentEngineTests {
    static let now = "2026-01-25T03:00:00.000Z"
    static let registration =
        #"{"device":"d1","device_token":"pdt_1","app":"com.x","user_id":"ann","now":"\#(now)","later":1}"#
    private static let message =
        #"{"id":"\#(uuid(7))","rev":3,"campaign":"daily","start":"2026-01-25T02:00:00Z","#
        + #""fallback_at":"2026-01-25T05:00:00+01:00","explore":"bandit","content":"#
        + #"{"title":"T","body":"B","category":"dtd_like.open","data":{"offer":15,"_u":"https://e.com"}}}"#

    let clock = MovedClock(wall: 1_769_000_000_000)
    let presenter = SimulatedPresenter()
    let ledger = Locked(Ledger())

    static func ok(_ body: String, _ status: Int = 200) -> HTTPResponse {
        HTTPResponse(status, body: Data(body.utf8))
    }

    /// A server that has one message and grants it.
    private static func server(_ request: HTTPRequest) -> HTTPResponse {
        switch request.url.lastPathComponent {
        case "register": ok(registration, 201)
        case "sync": ok(#"{"now":"\#(now)","messages":[\#(message)],"revoked":[],"rules":{"spacing_seconds":60}}"#)
        case "claim": ok(#"{"granted":true,"show_by":"2026-01-25T03:10:00.000Z","now":"\#(now)"}"#)
        case "events": ok(#"{"now":"\#(now)"}"#, 202)
        default: HTTPResponse(204)
        }
    }

    func exchange(
        _ special: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse? = { _ in nil }
    ) -> ScriptedExchange {
        ScriptedExchange { try special($0) ?? Self.server($0) }
    }

    func peal(
        _ exchange: ScriptedExchange, policy: any MomentPolicy = FixedPolicy(), run: String = "r",
        backgroundSeconds: Double = 25, sensors: any Sensors = SimulatedSensors(),
        images: any ImageStore = NoImages(),
        describe: @escaping @Sendable () -> DeviceDescription = { DeviceDescription() },
        imageSeconds: Double = 4,
        hold: @escaping @Sendable (@escaping @Sendable () -> Void) async -> @Sendable () async -> Void = { _ in {} },
        start: @escaping @Sendable (@escaping @Sendable () async -> Void) async -> Void = { await $0() }
    ) -> Peal {
        let counter = Locked(0)
        var configuration = PealConfiguration(
            server: URL(string: "https://push.example.com/base")!, key: "key", group: "group.x", environment: .sandbox)
        configuration.description = describe()
        let engine = MomentEngine(
            EngineParts(
                state: MemoryState(ledger, process: Process()) { false }, models: MemoryState([:]),
                api: HTTPDeviceAPI(server: configuration.server, key: "key", exchange: exchange), presenter: presenter,
                sensors: sensors, clock: clock, policy: policy, images: images,
                makeID: {
                    uuid(
                        counter.with {
                            $0 += 1; return $0
                        } + 100)
                }, utcOffsetSeconds: { _ in 0 },
                verify: { _, _, _ in true }, describe: describe, start: start, hold: hold,
                alertReceiver: .serviceExtension, backgroundSeconds: backgroundSeconds, imageSeconds: imageSeconds,
                run: run))
        return Peal(configuration, engine: engine)
    }

    func push(_ sequence: Int, sync: Bool = false) -> Push {
        Push(["aps": ["content-available": 1], "w": sequence, "a": sync ? 1 : 0, "m": [[uuid(7), 3, "daily", 0]]])
    }

    @Test("registers, syncs, claims, displays and confirms")
    func wholeWay() async throws {
        let exchange = exchange()
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([0x00, 0xAB, 0xFF]))
        #expect(presenter.state.now.displayed.isEmpty, "the person is opening the app")
        #expect(await peal.didGetBackgroundTime() == .newData)
        #expect(exchange.calls == ["POST register", "POST sync", "POST claim", "POST events"])
        let requests = exchange.requests.now
        #expect(requests[0].url.absoluteString == "https://push.example.com/base/peal/device/v1/register")
        #expect(
            requests.map { $0.headers["authorization"] } == ["Bearer key"]
                + [String](repeating: "Bearer pdt_1", count: 3))
        let body = try #require(JSONSerialization.jsonObject(with: requests[0].body ?? Data()) as? [String: Any])
        #expect(body["address"] as? String == "00abff")
        #expect(body["environment"] as? String == "sandbox")
        let shown = try #require(presenter.state.now.displayed[uuid(7)])
        #expect(shown.content.title == "T" && !shown.isSilent)
        #expect(shown.content.data?["offer"] == .integer(15))
        #expect(exchange.bodies("events")[0].contains(#""type":"shown""#))
        // The phone's clock was days behind; what it reports is the server's time.
        #expect(exchange.bodies("events")[0].contains(#""at":"2026-01-25T03:00:00.000Z""#))
        #expect(ledger.now.outbox == [])
    }

    @Test("what the app says before there is a device token is sent with it")
    func earlySignIn() async throws {
        let exchange = exchange()
        let peal = peal(exchange)
        var identifiers = DeviceIdentifiers()
        identifiers.idfv = "v"
        await peal.setIdentifiers(identifiers)
        try await peal.signIn(user: "ann", proof: "signed")
        await peal.subscribe(to: "news")
        #expect(exchange.calls.isEmpty)
        await peal.setDeviceToken(Data([0xAB]))
        let body = try #require(exchange.bodies("register").first)
        for part in [#""user_id":"ann""#, #""user_proof":"signed""#, #""idfv":"v""#, #""address":"ab""#, #""news""#] {
            #expect(body.contains(part), "\(body)")
        }
        #expect(exchange.bodies("register").count == 1)
    }

    @Test("who signs in while a sync is under way is registered before the call returns")
    func busySignIn() async throws {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let (signs, sign) = AsyncStream<Void>.makeStream()
        let isFirst = Locked(true)
        exchange.delay.with {
            $0 = { request in
                guard request.url.lastPathComponent == "sync",
                    isFirst.with({ flag in
                        defer { flag = false }
                        return flag
                    })
                else { return }
                arrival.yield()
                for await _ in signs { break }
            }
        }
        async let opening: Void = peal.didBecomeActive()
        for await _ in arrivals { break }
        async let signing: Void = peal.signIn(user: "ann", proof: "signed")
        while ledger.now.wanted?.userID != "ann" { await Task.yield() }
        for _ in 0..<50 { await Task.yield() }
        #expect(exchange.bodies("register").count == 1)
        sign.yield()
        try await signing
        #expect(exchange.bodies("register").last?.contains(#""user_id":"ann""#) == true, "\(exchange.calls)")
        await opening
    }

    @Test("asks the server for nothing at a wake-up without news and without a good moment")
    func quietWake() async {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let before = exchange.calls.count
        #expect(await peal.didReceive(push(1)) == .noData)
        #expect(exchange.calls.count == before)
        #expect(ledger.now[uuid(7)]?.looks.count == 1)
        #expect(await peal.didReceive(push(2, sync: true)) == .newData)
        #expect(exchange.bodies("sync").last?.contains(#""wakes":[1,2]"#) == true)
        #expect(await peal.didReceive(Push(["aps": ["alert": "x"]])) == nil)
    }

    @Test("repeats a claim that got no answer under the same id, and shows the message then")
    func lostClaim() async throws {
        let isDown = Locked(true)
        let exchange = exchange { request in
            if request.url.lastPathComponent == "claim", isDown.now { throw URLError(.timedOut) }
            return nil
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(presenter.state.now.displayed.isEmpty)
        isDown.with { $0 = false }
        #expect(await peal.didReceive(push(1)) == .newData)
        let claims = try exchange.bodies("claim").map {
            try JSONDecoder().decode(ClaimRequest.self, from: Data($0.utf8))
        }
        #expect(claims.count == 2 && Set(claims).count == 1)
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }

    @Test(
        "does not show what was refused, or granted too long ago", arguments: ["refused", "unknown", "late", "missing"])
    func notGranted(kind: String) async {
        let clock = clock
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "claim" else { return nil }
            switch kind {
            case "refused": return Self.ok(#"{"granted":false,"reason":"cancelled","now":"\#(Self.now)"}"#, 409)
            case "unknown": return Self.ok(#"{"granted":false,"reason":"moonphase","now":"\#(Self.now)"}"#, 409)
            case "missing": return Self.ok(#"{"error":{"code":"not_found"}}"#, 404)
            default:
                clock.advance(600_001)
                return nil
            }
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(presenter.state.now.displayed.isEmpty)
        #expect(ledger.now[uuid(7)]?.stage == (kind == "late" ? .asked : .gone))
    }

    @Test("concludes the display of a process that died, without a second sound", arguments: [true, false])
    func resume(wasDisplayed: Bool) async {
        let exchange = exchange()
        let first = peal(exchange, policy: FixedPolicy(isGood: false))
        await first.setDeviceToken(Data([1]))
        ledger.with { ledger in
            _ = ledger.ask(uuid(7), claimID: uuid(1), score: nil, snapshot: nil, now: 0)
            _ = ledger.grant(uuid(7), claimID: uuid(1), run: "r", now: 0)
        }
        let note = LocalNotification(id: uuid(7), content: MessageContent())
        if wasDisplayed { presenter.present(note) }
        _ = await peal(exchange, run: "r2").didReceive(push(1))
        #expect(ledger.now[uuid(7)]?.stage == .shown)
        #expect(presenter.state.now.alerts[uuid(7), default: 0] == (wasDisplayed ? 1 : 0))
        #expect(presenter.state.now.silent[uuid(7), default: 0] == (wasDisplayed ? 0 : 1))
        #expect(exchange.bodies("events").last?.contains("shown") == true)
    }

    @Test("keeps the claim when the notification centre fails, and says so when the person allows no notifications")
    func boardFails() async {
        let exchange = exchange()
        presenter.state.with { $0.failures = 1 }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(ledger.now[uuid(7)]?.stage == .asked)
        presenter.state.with { $0.permission.allowsAlerts = false }
        _ = await peal.didReceive(push(1))
        #expect(ledger.now[uuid(7)]?.stage == .gone)
        #expect(exchange.bodies("events").last?.contains(#""reason":"no_permission""#) == true)
    }

    @Test("reports opens with their button and dismissals, whichever API sent the push")
    func responses() async {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let interactive: [String: Any] = ["buttons": [["id": "like", "_d": "app://like"]]]
        let devtodev = Push([
            "aps": [:], "_k": uuid(8).uppercased(), "_u": "https://e.com", "_interactive": interactive,
        ])
        #expect(await peal.didRespond(to: devtodev, .opened) == .url("https://e.com"))
        #expect(await peal.didRespond(to: devtodev, .button("like")) == .deepLink("app://like"))
        #expect(await peal.didRespond(to: Push(["receiptId": uuid(9)]), .dismissed) == nil)
        #expect(await peal.didRespond(to: Push(["aps": ["task_id": uuid(10)]]), .opened) == .openApp)
        #expect(await peal.didRespond(to: Push(["other": 1], identifier: "x"), .opened) == nil)
        let bodies = exchange.bodies("events").joined()
        for id in 8...10 { #expect(bodies.contains(uuid(id))) }
        #expect(bodies.contains(#""button":"like""#) && bodies.contains("dismissed"))
    }

    @Test("goes on without a user whose proof is refused, and says so")
    func refusedProof() async throws {
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "register",
                String(decoding: request.body ?? Data(), as: UTF8.self).contains("mallory")
            else { return nil }
            return Self.ok(#"{"error":{"code":"forbidden","message":"wrong","field":"user_proof"}}"#, 403)
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        await #expect(throws: PealError.refused(code: "forbidden", message: "wrong", field: "user_proof")) {
            try await peal.signIn(user: "mallory", proof: "x")
        }
        #expect(ledger.now.wanted?.userID == nil)
    }

    @Test("shows nothing of the previous user while the server does not know the next one")
    func betweenUsers() async throws {
        let isDown = Locked(false)
        let exchange = exchange { request in
            if isDown.now { throw URLError(.notConnectedToInternet) }
            return request.url.lastPathComponent == "register"
                ? Self.ok(Self.registration.replacingOccurrences(of: "\"user_id\":\"ann\",", with: "")) : nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        #expect(ledger.now.entries(in: .held).count == 1)
        isDown.with { $0 = true }
        try await peal.signIn(user: "bob", proof: "p")
        let good = self.peal(exchange)
        _ = await good.didReceive(push(1))
        isDown.with { $0 = false }
        #expect(presenter.state.now.displayed.isEmpty)
        #expect(exchange.calls.last == "POST register")
    }

    @Test("registers again when its token has ended, with its topics")
    func endedToken() async {
        let ended = Locked(false)
        let exchange = exchange { request in
            if ended.now, request.headers["authorization"] == "Bearer pdt_1", request.url.lastPathComponent == "sync" {
                ended.with { $0 = false }
                return Self.unauthorized
            }
            return nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        await peal.subscribe(to: "news & more/ü")
        #expect(exchange.requests.now.last?.url.absoluteString.hasSuffix("/topics/news%20%26%20more%2F%C3%BC") == true)
        ended.with { $0 = true }
        _ = await peal.didReceive(push(1, sync: true))
        #expect(exchange.bodies("register").count == 2)
        #expect(exchange.bodies("register").last?.contains("news & more") == true)
        #expect(exchange.calls.suffix(2) == ["POST register", "POST sync"])
    }

    @Test("waits as long as the server asks")
    func busy() async {
        let isBusy = Locked(true)
        let exchange = exchange { _ in isBusy.now ? HTTPResponse(429, headers: ["retry-after": "120"]) : nil }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didReceive(push(1))
        #expect(exchange.calls == ["POST register"])
        clock.advance(121_000)
        isBusy.with { $0 = false }
        _ = await peal.didReceive(push(2, sync: true))
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }

    @Test("does not let one bad event block the others")
    func poison() async {
        let exchange = exchange { request in
            let body = String(decoding: request.body ?? Data(), as: UTF8.self)
            guard request.url.lastPathComponent == "events", body.contains("bad") else { return nil }
            return Self.ok(#"{"error":{"code":"invalid_field"}}"#, 400)
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        for content in ["bad", "good"] { await peal.didOpen(content: content) }
        _ = await peal.didGetBackgroundTime()
        #expect(ledger.now.outbox == [])
        #expect(exchange.bodies("events").contains { $0.contains("good") && !$0.contains("bad") })
    }

    @Test("forgets everything when the app asks for it, also when the token had ended")
    func forget() async {
        let exchange = exchange { $0.method == "DELETE" ? Self.unauthorized : nil }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        await peal.forgetDevice()
        #expect(exchange.calls.last == "DELETE registration")
        #expect(ledger.now == Ledger())
    }

    @Test(
        "registers devtodev's templates in the phone's language", arguments: [("de-AT", "Gefällt mir"), ("xx", "Like")])
    func categories(language: String, like: String) async {
        await peal(exchange()).registerCategories(languages: [language])
        let categories = presenter.state.now.categories
        #expect(categories.count == 22)
        let button = categories.first { $0.id == "dtd_like.open_share.open" }?.buttons.first
        #expect(button == NotificationCategory.Button(id: "like", title: like, opensApp: true))
    }

    @Test("decides by the model: the same wake twice gives the same, and quiet hours are kept")
    func modelPolicy() throws {
        let message = try JSONDecoder().decode(OpenMessage.self, from: Data(Self.message.utf8))
        let now = try #require(WireTime(Self.now)).milliseconds
        func choose(
            _ rules: DisplayRules, _ shownMessage: OpenMessage? = nil, shown: [Int64] = []
        ) -> MomentChoice {
            let entry = LedgerEntry(
                id: message.id, owner: "", stage: .held, message: shownMessage ?? message, since: now)
            return ModelPolicy().choose(
                MomentWake(
                    held: [entry], signals: Signals(), now: now, shown: shown, openCounts: [], wakeRate: nil,
                    rules: rules,
                    models: InstalledModels(app: "com.x"), utcOffsetSeconds: { _ in 0 }, isForeground: false))
        }
        #expect(choose(DisplayRules()).traces.count == 1)
        #expect(choose(DisplayRules()).show == choose(DisplayRules()).show)
        #expect(choose(DisplayRules()).snapshot.count == ContextSnapshot.byteCount)
        var quiet = DisplayRules()
        quiet.quietHours = DisplayRules.QuietTime(from: "22:00", to: "07:00")
        #expect(choose(quiet).show == nil && choose(quiet).traces.isEmpty)
        var capped = DisplayRules()
        capped.frequencyCap = DisplayRules.Cap(messages: 1, hours: 24)
        #expect(choose(capped).traces.count == 1)
        #expect(choose(capped, shown: [now - 23 * 3_600_000]).traces.isEmpty)
        #expect(choose(capped, shown: [now - 25 * 3_600_000]).traces.count == 1)
        var free = message
        free.transactional = true
        #expect(choose(quiet, free).traces.count == 1, "a transactional message may be shown at night")
        #expect(choose(capped, free, shown: [now - 23 * 3_600_000]).traces.count == 1)
        #expect(choose(capped, free, shown: [now - 3_600_000]).traces.isEmpty, "but not right after another one")
    }

    @Test("reads movement from half a second of acceleration")
    func motion() {
        func window(_ amplitude: Double, hertz: Double, z: Double = 1) -> MotionWindow {
            MotionWindow(
                samples: (0..<13).map {
                    let shake = amplitude * sin(2 * Double.pi * hertz * Double($0) / 25)
                    return MotionWindow.Sample(x: 0, y: 0, z: z * (1 + shake))
                })
        }
        #expect(window(0.4, hertz: 2).isWalking == true && window(0.4, hertz: 2).isInVehicle == false)
        #expect(window(0.05, hertz: 10).isInVehicle == true && window(0.05, hertz: 10).isWalking == false)
        #expect(window(0.001, hertz: 10).isInVehicle == false)
        #expect(window(0, hertz: 1, z: 1).isFaceDown == true && window(0, hertz: 1, z: -1).isFaceDown == false)
        #expect(MotionWindow(samples: []).isWalking == nil)
    }
}
