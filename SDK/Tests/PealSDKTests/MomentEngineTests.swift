import Foundation
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
    static let message =
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
        _ exchange: ScriptedExchange, policy: any MomentPolicy = FixedPolicy(),
        backgroundSeconds: Double = 25, sensors: any Sensors = SimulatedSensors(),
        images: any ImageStore = NoImages(),
        isInBackground: @escaping @Sendable () async -> Bool = { false },
        describe: @escaping @Sendable () -> DeviceDescription = { DeviceDescription() },
        imageSeconds: Double = 4, state: (any SharedState<Ledger>)? = nil,
        hold: @escaping @Sendable (@escaping @Sendable () -> Void) async -> @Sendable () async -> Void = { _ in {} },
        start: @escaping @Sendable (@escaping @Sendable () async -> Void) async -> Void = { await $0() }
    ) -> Peal {
        let counter = Locked(0)
        var configuration = PealConfiguration(
            server: URL(string: "https://push.example.com/base")!, key: "key", group: "group.x", environment: .sandbox)
        configuration.description = describe()
        let engine = MomentEngine(
            EngineParts(
                state: state ?? MemoryState(ledger, process: Process()) { false }, models: MemoryState([:]),
                api: HTTPDeviceAPI(server: configuration.server, key: "key", exchange: exchange), presenter: presenter,
                sensors: sensors, clock: clock, policy: policy, images: images,
                makeID: {
                    uuid(
                        counter.with {
                            $0 += 1; return $0
                        } + 100)
                }, utcOffsetSeconds: { _ in 0 },
                verify: { _, _, _ in true }, isInBackground: isInBackground, describe: describe, start: start,
                hold: hold,
                alertReceiver: .serviceExtension, backgroundSeconds: backgroundSeconds, imageSeconds: imageSeconds))
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
        #expect(await peal.didRespond(to: Push([:], identifier: uuid(9), isLocal: true), .opened) == nil)
        let bodies = exchange.bodies("events").joined()
        for id in 8...10 { #expect(bodies.contains(uuid(id))) }
        #expect(bodies.contains(#""button":"like""#) && bodies.contains("dismissed"))
    }

    @Test(
        "waits as long as the server asks, or a proxy that names a date",
        arguments: [
            ["retry-after": "120"],
            ["retry-after": "Sun, 25 Jan 2026 03:02:00 GMT", "date": "Sun, 25 Jan 2026 03:00:00 GMT"],
        ])
    func busy(headers: [String: String]) async {
        let isBusy = Locked(true)
        let exchange = exchange { _ in isBusy.now ? HTTPResponse(429, headers: headers) : nil }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        clock.advance(119_000)
        _ = await peal.didReceive(push(1))
        #expect(exchange.calls == ["POST register"])
        clock.advance(2000)
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

    @Test("forgets everything when the app asks for it, even if the token has ended")
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
