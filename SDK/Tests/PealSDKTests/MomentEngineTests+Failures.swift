import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Slow servers, clocks that are set, and changes of the time zone.
extension MomentEngineTests {
    private static let day: Int64 = 86_400_000

    @Test("returns from a response before it is uploaded", .timeLimit(.minutes(10)))
    func slowUpload() async {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false), start: BackgroundWork.start)
        await peal.setDeviceToken(Data([1]))
        let (signs, sign) = AsyncStream<Void>.makeStream()
        exchange.delay.with {
            $0 = { request in
                guard request.url.lastPathComponent == "events" else { return }
                for await _ in signs { break }
            }
        }
        #expect(await peal.didRespond(to: Push(["peal": ["message": uuid(8)]]), .opened) == .openApp)
        #expect(ledger.now.outbox.map(\.type) == [.opened], "stored, and not sent yet")
        sign.yield()
        sign.finish()
        // It waits for the upload, or does it itself.
        _ = await peal.didGetBackgroundTime()
        #expect(ledger.now.outbox == [])
    }

    @Test("changes a topic although a page of the network answered first", arguments: [200, 302, 403, 404])
    func captiveTopic(status: Int) async {
        let isCaptive = Locked(true)
        let exchange = exchange { request in
            isCaptive.now && request.url.lastPathComponent == "news"
                ? HTTPResponse(status, body: Data("<html>Sign in</html>".utf8)) : nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        await peal.subscribe(to: "news")
        #expect(ledger.now.topicChanges == ["news": true])
        isCaptive.with { $0 = false }
        clock.advance(3_600_001)
        await peal.didBecomeActive()
        #expect(ledger.now.topicChanges.isEmpty)
        #expect(exchange.calls.filter { $0 == "PUT news" }.count == 2, "\(exchange.calls)")
    }

    @Test("the extension waits as long as the server asks, and so does the app")
    func extensionPause() async throws {
        let isBusy = Locked(false)
        let exchange = exchange { request in
            isBusy.now && request.url.lastPathComponent == "events"
                ? HTTPResponse(429, headers: ["retry-after": "120"]) : nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        isBusy.with { $0 = true }
        let receiver = AlertReceiver(
            state: MemoryState(ledger, process: Process()) { false }, presenter: presenter,
            api: HTTPDeviceAPI(
                server: URL(string: "https://push.example.com/base")!, key: "key", exchange: exchange),
            clock: clock, makeID: { UUID().uuidString }, pause: { _ in })
        for message in [uuid(8), uuid(9)] {
            _ = try await receiver.receive(message)
            try await receiver.flush()
        }
        #expect(exchange.bodies("events").count == 1)
        await peal.didBecomeActive()
        #expect(exchange.bodies("events").count == 1 && ledger.now.outbox.count >= 2)
        isBusy.with { $0 = false }
        clock.advance(121_000)
        try await receiver.flush()
        #expect(exchange.bodies("events").count == 2 && ledger.now.outbox.isEmpty)
    }

    @Test(
        "claims a display of a dead process once more, and never again after a refusal",
        arguments: ["cancelled", "fallback", "expired", "closed", "missing"])
    func refusedDisplay(reason: String) async {
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "claim" else { return nil }
            return reason == "missing"
                ? Self.ok(#"{"error":{"code":"not_found"}}"#, 404)
                : Self.ok(#"{"granted":false,"reason":"\#(reason)","now":"\#(Self.now)"}"#, 409)
        }
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        ledger.with { ledger in
            _ = ledger.ask(uuid(7), claimID: uuid(1), score: nil, snapshot: nil, now: 0)
            _ = ledger.grant(uuid(7), claimID: uuid(1), now: 0)
        }
        let next = peal(exchange, policy: FixedPolicy(isGood: false))
        for wake in 1...3 { _ = await next.didReceive(push(wake)) }
        #expect(exchange.bodies("claim").count == 1)
        #expect(presenter.state.now.displayed.isEmpty && ledger.now[uuid(7)]?.stage == .intent)
        let verdict = ledger.with { $0.alert(uuid(7), mayWait: false, eventIDs: ("1", "2"), now: 0) }
        #expect(verdict == .silence, "the person may have seen it")
    }

    @Test("repeats a claim that got no answer after quiet hours, unless it is transactional", arguments: [true, false])
    func quietClaim(isTransactional: Bool) async {
        let isDown = Locked(true)
        let answer =
            #"{"now":"\#(Self.now)","messages":[{"id":"\#(uuid(7))","rev":3,"transactional":\#(isTransactional),"#
            + #""start":"2026-01-25T02:00:00Z","fallback_at":"2026-01-25T12:00:00Z","content":{}}],"#
            + #""rules":{"quiet_hours":{"from":"22:00","to":"07:00"}}}"#
        let exchange = exchange { request in
            let name = request.url.lastPathComponent
            if name == "claim", isDown.now { throw URLError(.notConnectedToInternet) }
            return name == "sync" ? Self.ok(answer) : nil
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(ledger.now[uuid(7)]?.stage == .asked)
        isDown.with { $0 = false }
        _ = await peal.didReceive(push(1))
        #expect(presenter.state.now.alerts[uuid(7)] == (isTransactional ? 1 : nil), "it is 3 at night")
        clock.advance(5 * 3_600_000)
        _ = await peal.didReceive(push(2))
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }

    @Test("names content as far as the server reads it, in code points", arguments: ["a", "👩‍👩‍👧‍👦", "e\u{301}"])
    func longContent(character: String) async {
        let peal = peal(exchange(), policy: FixedPolicy(isGood: false))
        await peal.didOpen(content: String(repeating: character, count: 300))
        #expect(ledger.now.outbox.last?.content?.unicodeScalars.count == 255)
    }

    @Test("waits twice as long after every failure, up to an hour")
    func longestPause() {
        var pause = Ledger.Pause()
        let lengths = (0..<14).map { _ in
            pause.begin(at: 0, seconds: nil)
            return (1...4000).first { !pause.holds(at: $0 * 1000) }
        }
        #expect(lengths == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600])
    }

    @Test("the extension uploads for a few seconds only, because the person waits", arguments: [true, false])
    func slowExtension(isRefused: Bool) async throws {
        let clock = clock
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "events" else { return nil }
            clock.advance(4000)
            return isRefused ? Self.ok(#"{"error":{"code":"invalid_field"}}"#, 400) : nil
        }
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        ledger.with { ledger in
            for number in 1000..<1900 {
                let at = WireTime(milliseconds: clock.wall)
                ledger.report(DeviceEvent(eventID: uuid(number), type: .contentOpened, at: at))
            }
        }
        let receiver = AlertReceiver(
            state: MemoryState(ledger, process: Process()) { false }, presenter: presenter,
            api: HTTPDeviceAPI(
                server: URL(string: "https://push.example.com/base")!, key: "key", exchange: exchange),
            clock: clock, makeID: { UUID().uuidString }, pause: { _ in })
        #expect(try await receiver.receive(uuid(8)) == .show)
        try await receiver.flush()
        #expect(exchange.bodies("events").count == 2)
    }

    @Test("the extension uploads the receipt while it fetches the image", .timeLimit(.minutes(10)))
    func receiptWithImage() async {
        let exchange = exchange()
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        let receiver = AlertReceiver(
            state: MemoryState(ledger, process: Process()) { false }, presenter: presenter,
            api: HTTPDeviceAPI(
                server: URL(string: "https://push.example.com/base")!, key: "key", exchange: exchange),
            clock: clock, makeID: { UUID().uuidString }, pause: { _ in })
        let gate = hold("POST events", in: exchange)
        await receiver.receive(uuid(8)) { verdict in
            #expect(verdict == .show)
            // Neither waits for the other.
            await gate.arrival()
            gate.open()
        }
        #expect(ledger.now.outbox.isEmpty, "the receipt has arrived before the notification is shown")
    }

    /// Images by the message that they belong to.
    private final class Pictures: ImageStore {
        let urls = Locked<[String: String]>([:])

        func fetch(_ url: String, for message: String) async { urls.with { $0[message] = url } }
        func file(for message: String) -> URL? { urls.now[message].flatMap { URL(string: $0) } }
        func remove(_ message: String) { urls.with { $0[message] = nil } }
        func keep(only messages: Set<String>) { urls.with { $0 = $0.filter { messages.contains($0.key) } } }
        func removeAll() { urls.with { $0 = [:] } }
    }

    @Test("a message that was replaced has its own image, or none")
    func replacedImage() async {
        let image = Locked<(rev: Int, url: String?)>((1, "https://e.com/1.png"))
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "sync" else { return nil }
            let (rev, url) = image.now
            let content = url.map { #"{"title":"T","image_url":"\#($0)"}"# } ?? #"{"title":"T"}"#
            return Self.ok(
                #"{"now":"\#(Self.now)","messages":[{"id":"\#(uuid(7))","rev":\#(rev),"#
                    + #""start":"2026-01-25T02:00:00Z","fallback_at":"2026-01-25T05:00:00Z","content":\#(content)}]}"#)
        }
        let pictures = Pictures()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false), images: pictures)
        await peal.setDeviceToken(Data([1]))
        #expect(pictures.urls.now == [uuid(7): "https://e.com/1.png"])
        image.with { $0 = (2, "https://e.com/2.png") }
        _ = await peal.didReceive(push(1, sync: true))
        #expect(pictures.urls.now == [uuid(7): "https://e.com/2.png"])
        image.with { $0 = (3, nil) }
        _ = await peal.didReceive(push(2, sync: true))
        #expect(pictures.urls.now.isEmpty)
    }

    @Test("ends a wake in the background before the system ends the app", .timeLimit(.minutes(10)))
    func slowServer() async {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false), backgroundSeconds: 1)
        await peal.setDeviceToken(Data([1]))
        exchange.delay.with { $0 = { _ in try? await Task.sleep(nanoseconds: 60_000_000_000) } }
        async let first = peal.didReceive(push(1, sync: true))
        async let second = peal.didReceive(push(2, sync: true))
        #expect(await [first, second] == [.failed, .failed])
        #expect(ledger.now.wakes.contains(2), "one of them had no turn, but arrived")
        exchange.delay.with { $0 = { _ in } }
        let patient = self.peal(exchange)
        #expect(await patient.didReceive(push(3, sync: true)) == .newData)
        #expect(exchange.bodies("sync").last?.contains(#""wakes":["#) == true, "what was not confirmed is repeated")
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }

    @Test("keeps the server's time when the clock is set back", arguments: [-1, -40])
    func clockSetBack(days: Int64) async throws {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        clock.advance(60_000)
        clock.setWall(clock.wall + days * Self.day)
        #expect(await peal.receiveAlert(Push(["peal": ["message": uuid(8)]])))
        let body = try #require(exchange.bodies("events").last)
        #expect(body.contains(#""at":"2026-01-25T03:01:00.000Z""#), "\(body)")
    }

    @Test("does not forget what it has shown when the clock is set forward")
    func clockSetForward() async {
        let peal = peal(exchange(), policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let alert = Push(["peal": ["message": uuid(8)]])
        #expect(await peal.receiveAlert(alert))
        clock.setWall(clock.wall + 40 * Self.day)
        _ = await peal.didReceive(push(1))
        #expect(await !peal.receiveAlert(alert), "a second alert")
    }

    @Test("a pause ends although the clock is set back")
    func pauseAndClock() async {
        let isBusy = Locked(true)
        let exchange = exchange { _ in isBusy.now ? HTTPResponse(429, headers: ["retry-after": "120"]) : nil }
        clock.setWall(clock.wall + 3 * Self.day)
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        isBusy.with { $0 = false }
        clock.setWall(clock.wall - 3 * Self.day)
        _ = await peal.didReceive(push(1, sync: true))
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }

    @Test("a pause that a server states in nonsense is an hour at most", arguments: [Int.max, -5, 4000])
    func absurdPause(seconds: Int) {
        var pause = Ledger.Pause()
        pause.begin(at: 1000, seconds: seconds)
        #expect(pause.holds(at: 1001))
        #expect(!pause.holds(at: 1000 + 3_600_001))
    }

    @Test("registers again with the time zone of the country that the person has travelled to")
    func journey() async {
        let zone = Locked("Europe/Vienna")
        let exchange = exchange()
        let peal = peal(
            exchange, policy: FixedPolicy(isGood: false),
            describe: {
                var description = DeviceDescription()
                description.timeZone = zone.now
                return description
            })
        await peal.setDeviceToken(Data([1]))
        await peal.didBecomeActive()
        #expect(exchange.bodies("register").count == 1, "nothing has changed")
        zone.with { $0 = "America/New_York" }
        for _ in 0..<2 { await peal.didBecomeActive() }
        #expect(exchange.bodies("register").count == 2)
        #expect(exchange.bodies("register").last?.contains("New_York") == true)
    }

    @Test("keeps a time zone that the app states")
    func ownZone() {
        var (before, now, own) = (DeviceDescription(), DeviceDescription(), DeviceDescription())
        (before.timeZone, now.timeZone, own.timeZone) = ("Europe/Vienna", "America/New_York", "UTC")
        #expect(own.updated(from: before, to: now).timeZone == "UTC")
        #expect(before.updated(from: before, to: now).timeZone == "America/New_York")
    }

    @Test("says that a sign-in could not be stored")
    func lockedPhone() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data().write(to: file)
        var configuration = PealConfiguration(server: URL(string: "https://push.example.com")!, key: "key")
        // No folder can be made where a file is.
        configuration.folder = file
        let peal = Peal(configuration, dependencies: PealDependencies(exchange: exchange(), presenter: presenter))
        await #expect(throws: PealError.notStored) { try await peal.signIn(user: "ann") }
        await #expect(throws: PealError.notStored) { try await peal.signOut() }
        #expect(await peal.didReceive(push(1)) == .failed)
        #expect(await peal.receiveAlert(Push(["peal": ["message": uuid(8)]])), "what cannot be decided is shown")
    }

    @Test("keeps rules of any size", arguments: [Int.min, -1, 0, Int.max])
    func absurdRules(number: Int) {
        var rules = DisplayRules()
        (rules.spacingSeconds, rules.wakeIntervalSeconds) = (number, number)
        rules.frequencyCap = DisplayRules.Cap(messages: number, hours: number)
        rules.quietHours = DisplayRules.QuietTime(from: "\(number):00", to: "nan:00")
        let given = ModelPolicy.rules(rules)
        #expect((0...90 * Self.day).contains(given.spacing) && given.quietHours == nil)
        #expect((0...90 * Self.day).contains(given.cap?.period ?? -1))
        let now: Int64 = 1_769_310_000_000
        let message = OpenMessage(
            id: uuid(1), rev: 1, start: WireTime(milliseconds: now - 1000),
            fallbackAt: WireTime(milliseconds: now + 7 * Self.day), content: MessageContent())
        let entry = LedgerEntry(id: uuid(1), owner: "", stage: .held, message: message, since: now)
        _ = ModelPolicy().choose(
            MomentWake(
                held: [entry], signals: .init(), now: now, shown: [], openCounts: [], wakeRate: nil, rules: rules,
                models: .init(app: "a"), utcOffsetSeconds: { _ in 0 }, isForeground: false))
    }

    @Test("presents what it displays itself, and a push only once")
    func presentation() async {
        let peal = peal(exchange())
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(ledger.now[uuid(7)]?.stage == .shown)
        let payload: [AnyHashable: Any] = ["peal": ["message": uuid(7)]]
        #expect(await peal.shouldPresent(Push(payload, isLocal: true)))
        #expect(await peal.shouldPresent(Push(["other": 1])))
    }
}

@Suite("The server's clock on a device") struct ServerClockTests {
    private func clock() -> ServerClock {
        var clock = ServerClock()
        clock.learn(WireTime(milliseconds: 50_000), sentAt: ClockReading(wall: 1_000, uptime: 700))
        return clock
    }

    @Test("is the wall clock before the first response")
    func unknown() {
        #expect(ServerClock().now(ClockReading(wall: 5, uptime: 9)).milliseconds == 5)
    }

    @Test(
        "advances with whichever of the device's clocks advanced further, and never goes back",
        arguments: [(1_400, 1_100, 50_400), (-90_000, 1_100, 50_400), (3_000, 10, 52_000), (-90_000, 10, 50_000)])
    func progress(wall: Int64, uptime: Int64, expected: Int64) {
        #expect(clock().now(ClockReading(wall: wall, uptime: uptime)).milliseconds == expected)
    }
}
