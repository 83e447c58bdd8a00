import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Which message is chosen, and what becomes of its claim and its display.
extension MomentEngineTests {
    @Test("reads the sensors only while a message waits for its moment", arguments: [true, false])
    func sensing(hasMessage: Bool) async {
        let reads = Locked(0)
        let exchange = exchange { request in
            hasMessage || request.url.lastPathComponent != "sync" ? nil : Self.ok(#"{"now":"\#(Self.now)"}"#)
        }
        let sensors = SimulatedSensors(delay: { reads.with { $0 += 1 } })
        let peal = peal(exchange, policy: FixedPolicy(isGood: false), sensors: sensors)
        await peal.setDeviceToken(Data([1]))
        for _ in 0..<2 { _ = await peal.didGetBackgroundTime() }
        #expect(reads.now == (hasMessage ? 2 : 0))
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
            _ = ledger.grant(uuid(7), claimID: uuid(1), now: 0)
        }
        let note = LocalNotification(id: uuid(7), content: MessageContent())
        if wasDisplayed { presenter.present(note) }
        _ = await peal(exchange).didReceive(push(1))
        #expect(ledger.now[uuid(7)]?.stage == .shown)
        #expect(presenter.state.now.alerts[uuid(7), default: 0] == (wasDisplayed ? 1 : 0))
        #expect(presenter.state.now.silent[uuid(7), default: 0] == (wasDisplayed ? 0 : 1))
        #expect(exchange.bodies("events").last?.contains("shown") == true)
    }

    /// A ledger on a disk that may be full.
    private struct Disk: SharedState {
        let box: Locked<Ledger>
        let isFull: @Sendable () -> Bool

        func read() throws -> Ledger { box.now }
        func update<Result>(_ change: (inout Ledger) throws -> Result) throws -> Result {
            guard !isFull() else { throw SharedFileError.system(call: "write", code: ENOSPC) }
            return try box.with { try change(&$0) }
        }
    }

    @Test(
        "concludes a display that it could not record because the disk was full, in the same run of the app",
        arguments: [true, false])
    func fullDisk(isStillThere: Bool) async {
        let presenter = presenter
        let isFull = Locked(true)
        let exchange = exchange()
        let peal = peal(
            exchange, state: Disk(box: ledger) { isFull.now && presenter.state.now.displayed[uuid(7)] != nil })
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(presenter.state.now.alerts == [uuid(7): 1] && ledger.now[uuid(7)]?.stage == .intent)
        isFull.with { $0 = false }
        if !isStillThere { presenter.state.with { $0.displayed = [:] } }
        _ = await peal.didReceive(push(1))
        #expect(ledger.now[uuid(7)]?.stage == .shown)
        #expect(presenter.state.now.alerts == [uuid(7): 1] && presenter.state.now.silent.isEmpty == isStillThere)
        #expect(exchange.bodies("events").last?.contains("shown") == true)
    }

    @Test("does not alert again when the notification centre refuses to show again what may have been displayed")
    func refusedAgain() async {
        let presenter = presenter
        let isFull = Locked(true)
        let peal = peal(
            exchange(), state: Disk(box: ledger) { isFull.now && presenter.state.now.displayed[uuid(7)] != nil })
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        isFull.with { $0 = false }
        presenter.state.with { ($0.displayed, $0.failures) = ([:], 1) }
        _ = await peal.didReceive(push(1))
        #expect(ledger.now[uuid(7)]?.stage == .intent)
        _ = await peal.didReceive(push(2))
        #expect(ledger.now[uuid(7)]?.stage == .shown)
        #expect(presenter.state.now.alerts == [uuid(7): 1] && presenter.state.now.silent == [uuid(7): 1])
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

    @Test("decides by the model: the same wake twice gives the same, and quiet hours are kept")
    func modelPolicy() throws {
        var message = try JSONDecoder().decode(OpenMessage.self, from: Data(Self.message.utf8))
        message.explore = "soft"
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
        message.explore = "greedy"
        #expect(choose(DisplayRules()).traces.isEmpty && choose(DisplayRules()).snapshot.count == 16, "nobody needs it")
    }
}
