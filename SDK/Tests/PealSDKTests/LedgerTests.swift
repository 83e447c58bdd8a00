import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice

@Suite("The ledger") struct LedgerTests {
    private static let now: Int64 = 1_769_310_000_000

    private func message(_ id: String, rev: Int = 1) -> OpenMessage {
        OpenMessage(
            id: id, rev: rev, start: WireTime(milliseconds: Self.now), fallbackAt: WireTime(milliseconds: Self.now + 1),
            content: MessageContent(body: "\(rev)"))
    }

    private func folder() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)", isDirectory: true)
    }

    @Test("is the old or the new one after the process ended at any step", arguments: SharedFile<Ledger>.Step.allCases)
    func crash(step: SharedFile<Ledger>.Step) throws {
        let url = folder().appendingPathComponent("ledger.json")
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        let file = SharedFile(url: url, initial: { Ledger() })
        try file.update { $0.hold(message("a"), now: Self.now) }
        let dying = SharedFile(url: url, initial: { Ledger() }) { if $0 == step { throw Died() } }
        #expect(throws: Died.self) { try dying.update { $0.hold(message("b"), now: Self.now) } }
        let isNew = step == .renamed || step == .folderSynced
        #expect((try file.read()["b"] != nil) == isNew)
        #expect(try file.read()["a"] != nil)
        // Nothing of the dead process is in the way: not its lock, and not its half-written file.
        try file.update { $0.hold(message("c"), now: Self.now) }
        #expect(try file.read().entries(in: .held).count == (isNew ? 3 : 2))
    }

    @Test("loses no change when app and extension write at the same time")
    func contention() async throws {
        let url = folder().appendingPathComponent("ledger.json")
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    let file = SharedFile(url: url, initial: { [Int]() })
                    for number in 0..<25 { try file.update { $0.append(writer * 100 + number) } }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(try SharedFile(url: url, initial: { [Int]() }).read()).count == 100)
    }

    @Test("is decoded again only after another process has written it")
    func decoding() throws {
        let url = folder().appendingPathComponent("value.json")
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        let (app, other) = (SharedFile(url: url) { CountedValue() }, SharedFile(url: url) { CountedValue() })
        try app.update { $0.number = 1 }
        for _ in 0..<5 { #expect(try app.read().number == 1) }
        try app.update { $0.number += 1 }
        #expect(CountedValue.decodings.now == 0)
        try other.update { $0.number += 1 }
        #expect(CountedValue.decodings.now == 1)
        for _ in 0..<5 { #expect(try app.read().number == 3) }
        #expect(CountedValue.decodings.now == 2)
    }

    @Test(
        "is set aside when it cannot be decoded, until the device is forgotten", arguments: ["", "{\"format\"", "[1]"])
    func undecodable(content: String) throws {
        let url = folder().appendingPathComponent("ledger.json")
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        let aside = URL(fileURLWithPath: url.path + ".undecodable")
        let file = SharedFile(url: url, initial: { Ledger() })
        try file.update { $0.hold(message("a"), now: Self.now) }
        #expect(!FileManager.default.fileExists(atPath: aside.path))
        try Data(content.utf8).write(to: url)
        #expect(try file.read() == Ledger())
        #expect(try Data(contentsOf: url) == Data(content.utf8), "to read changes nothing")
        try file.update { $0.hold(message("b"), now: Self.now) }
        #expect(try file.read().openIDs == ["b"])
        #expect(try Data(contentsOf: aside) == Data(content.utf8))
        file.discardUndecodable()
        #expect(!FileManager.default.fileExists(atPath: aside.path))
        #expect(try file.read().openIDs == ["b"])
    }

    @Test("is not taken for empty while the system does not let the app read it")
    func unreadable() throws {
        let url = folder().appendingPathComponent("ledger.json")
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        // A folder can be opened, and not be read.
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let file = SharedFile(url: url, initial: { Ledger() })
        #expect(throws: SharedFileError.self) { try file.update { $0.hold(message("b"), now: Self.now) } }
        #expect(FileManager.default.fileExists(atPath: url.path))
    }

    @Test("counts the wake-ups of a new device from the beginning")
    func newDevice() {
        var ledger = Ledger()
        for (device, number) in [("d1", 84), ("d1", 85), ("d2", 1)] {
            ledger.dropIdentity()
            ledger.register(
                RegistrationAnswer(
                    device: device, deviceToken: "t", app: "a", userID: "u", now: WireTime(milliseconds: Self.now)),
                as: Registration(platform: "ios", address: .text("00")),
                sentAt: ClockReading(wall: Self.now, uptime: 0))
            ledger.note(wake: number, prior: 0.5, now: Self.now)
        }
        #expect(ledger.wakes == [1] && ledger.lastWake == 1)
    }

    @Test("keeps messages apart although one was shown while the clock was ahead")
    func shownInTheFuture() {
        var ledger = Ledger()
        #expect(ledger.alert("m", mayWait: false, eventIDs: ("1", "2"), now: Self.now + 40 * 86_400_000) == .show)
        ledger.prune(now: Self.now)
        #expect(ledger.shownTimes == [Self.now])
        #expect(ledger["m"]?.stage == .shown)
    }

    @Test(
        "counts what was shown as long as the app's frequency cap looks back",
        arguments: [(24, 9), (720, 30), (1_000_000_000_000, 90), (-1, 9)])
    func cap(hours: Int, days: Int64) {
        var (ledger, rules) = (Ledger(), DisplayRules())
        rules.frequencyCap = DisplayRules.Cap(messages: 1, hours: hours)
        ledger.rules = rules
        #expect(ledger.alert("m", mayWait: false, eventIDs: ("1", "2"), now: Self.now) == .show)
        let end = Self.now + days * 86_400_000
        ledger.prune(now: end - 1)
        #expect(ledger.shownTimes == [Self.now])
        ledger.prune(now: end)
        #expect(ledger.shownTimes.isEmpty)
    }

    @Test("of an earlier version of the SDK is read, and does not claim an extension")
    func formerFormat() throws {
        let file = SharedFile(url: folder().appendingPathComponent("ledger.json"), initial: { Ledger() })
        try file.update { $0.markExtension() }
        #expect(try file.read().hasExtension == true)
        var members = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(file.read())) as? [String: Any])
        members["hasExtension"] = nil
        let former = try JSONDecoder().decode(Ledger.self, from: JSONSerialization.data(withJSONObject: members))
        #expect(former.hasExtension == nil && former == Ledger())
    }

    @Test("does not forget what was displayed before the answer to a registration was lost")
    func lostRegistration() {
        var ledger = Ledger()
        #expect(ledger.alert("m", mayWait: false, eventIDs: ("1", "2"), now: Self.now) == .show)
        var registration = Registration(platform: "ios", address: .text("00"))
        registration.userID = "u"
        ledger.register(
            RegistrationAnswer(
                device: "d", deviceToken: "t", app: "a", userID: "u", now: WireTime(milliseconds: Self.now)),
            as: registration, sentAt: ClockReading(wall: Self.now, uptime: 0))
        #expect(ledger.alert("m", mayWait: false, eventIDs: ("3", "4"), now: Self.now) == .silence)
    }

    @Test("takes a new revision of a message that waits, and of one whose claim cannot win any more")
    func revisions() {
        var ledger = Ledger()
        ledger.hold(message("m"), now: Self.now)
        ledger.hold(message("m", rev: 2), now: Self.now)
        #expect(ledger["m"]?.message?.rev == 2)
        _ = ledger.ask("m", claimID: "c", score: nil, snapshot: nil, now: Self.now)
        ledger.hold(message("m", rev: 2), now: Self.now)
        #expect(ledger["m"]?.stage == .asked)
        ledger.hold(message("m", rev: 3), now: Self.now)
        #expect(ledger["m"]?.stage == .held)
        let isGranted = ledger.grant("m", claimID: "c", now: Self.now)
        #expect(!isGranted)
    }

    @Test("keeps a claim that may have been granted when the server says that the message is not open")
    func revocation() {
        var ledger = Ledger()
        ledger.hold(message("held"), now: Self.now)
        ledger.hold(message("asked"), now: Self.now)
        _ = ledger.ask("asked", claimID: "c", score: nil, snapshot: nil, now: Self.now)
        ledger.revoke(["held", "asked"], now: Self.now)
        #expect(ledger["held"]?.stage == .gone)
        #expect(ledger["asked"]?.stage == .asked)
    }

    @Test("drops what is not a receipt of a display first when too much waits")
    func outbox() {
        var ledger = Ledger()
        for number in 0..<Ledger.eventsMax {
            let type: DeviceEvent.Kind = number < 10 ? .shown : .contentOpened
            ledger.report(DeviceEvent(eventID: "\(number)", type: type, at: WireTime(milliseconds: 0)))
        }
        ledger.report(DeviceEvent(eventID: "new", type: .opened, at: WireTime(milliseconds: 0)))
        #expect(ledger.outbox.count == Ledger.eventsMax)
        #expect(ledger.outbox.prefix(10).allSatisfy { $0.type == .shown })
        #expect(ledger.outbox.last?.eventID == "new")
        #expect(!ledger.outbox.contains { $0.eventID == "10" })
    }

    @Test("keeps a limited number of messages although an app that is never opened does not sync")
    func neverOpened() {
        var ledger = Ledger()
        for number in 0...Ledger.entriesMax {
            _ = ledger.alert(
                "\(number)", mayWait: false, eventIDs: ("r\(number)", "s\(number)"), now: Self.now + Int64(number))
        }
        #expect(ledger.entries.count == Ledger.entriesMax)
        #expect(ledger["0"] == nil && ledger["\(Ledger.entriesMax)"]?.stage == .shown)
        let later = Self.now + Int64(Ledger.entriesMax) + 1
        ledger.respond("tapped", isDismissal: false, button: nil, eventID: "o", now: later)
        #expect(ledger.entries.count == Ledger.entriesMax)
        #expect(ledger["1"] == nil && ledger["tapped"]?.stage == .opened)
    }

    @Test("learns from the numbers of wake-ups how many were missed")
    func wakes() throws {
        var ledger = Ledger()
        for sequence in [1, 2, 6, 6, 4] { ledger.note(wake: sequence, prior: 0.5, now: Self.now) }
        #expect(ledger.wakes == [1, 2, 6])
        // Three arrived, three were missed, and the prior counts as four.
        #expect(abs(try #require(ledger.wakeRate).chance - 0.5) < 1e-9)
    }

    @Test("reports wake-ups although the server counts them from an earlier number again")
    func restoredServer() throws {
        var ledger = Ledger()
        for sequence in [84, 85, 3, 5, 4] { ledger.note(wake: sequence, prior: 0.5, now: Self.now) }
        #expect(ledger.wakes == [3, 5] && ledger.lastWake == 5)
        // Four arrived, one was missed, and the prior counts as four.
        #expect(abs(try #require(ledger.wakeRate).chance - 6.0 / 9) < 1e-9)
    }

    @Test("reports all wakes of a soft message even if the server sent it, and none of others")
    func traces() throws {
        for (mode, sharing, expected) in [("soft", true, "AQID"), ("greedy", true, nil), ("soft", false, nil)] {
            var ledger = Ledger()
            ledger.sharesContext = sharing
            var open = message("m")
            open.explore = mode
            ledger.hold(open, now: Self.now)
            ledger.look("m", trace: [1, 2, 3], now: Self.now)
            #expect(ledger.alert("m", mayWait: true, eventIDs: ("r", "s"), now: Self.now) == .show)
            #expect(ledger.outbox.first { $0.type == .shown }?.trace == expected, "\(mode)")
            ledger = Ledger()
            ledger.sharesContext = sharing
            ledger.hold(open, now: Self.now)
            ledger.look("m", trace: [1, 2, 3], now: Self.now)
            _ = ledger.ask("m", claimID: "c", score: nil, snapshot: nil, trace: [4, 5, 6], now: Self.now)
            _ = ledger.grant("m", claimID: "c", now: Self.now)
            ledger.displayed("m", eventID: "s", now: Self.now)
            let whole = expected == nil ? nil : "AQIDBAUG"
            #expect(ledger.outbox.last?.trace == whole, "the wake that was taken is the last")
        }
    }

    @Test("reports no trace without its end, whose last wake would seem to be the one that was taken")
    func longTrace() throws {
        for isAlert in [true, false] {
            var ledger = Ledger()
            ledger.sharesContext = true
            var open = message("m")
            open.explore = "soft"
            ledger.hold(open, now: Self.now)
            let line = [UInt8](repeating: 1, count: 21)
            for _ in 0..<Ledger.traceBytesMax / 21 { ledger.look("m", trace: line, now: Self.now) }
            let room = try JSONDecoder().decode(Ledger.self, from: JSONEncoder().encode(ledger))
            #expect(room["m"]?.wholeTrace != nil, "all of it")
            ledger.look("m", trace: line, now: Self.now)
            if isAlert {
                _ = ledger.alert("m", mayWait: true, eventIDs: ("r", "s"), now: Self.now)
            } else {
                _ = ledger.ask("m", claimID: "c", score: nil, snapshot: "AQID", trace: line, now: Self.now)
                _ = ledger.grant("m", claimID: "c", now: Self.now)
                ledger.displayed("m", eventID: "s", now: Self.now)
            }
            let shown = try #require(ledger.outbox.last)
            #expect(shown.type == .shown && shown.trace == nil)
        }
    }

    @Test("deletes what was gathered when the person stops sharing")
    func consent() throws {
        var ledger = Ledger()
        ledger.sharesContext = true
        ledger.countOpen(hour: 9, eventID: "o", now: Self.now + 1234)
        #expect(ledger.outbox.first?.at.milliseconds.isMultiple(of: 3_600_000) == true)
        var open = message("m")
        open.explore = "soft"
        ledger.hold(open, now: Self.now)
        ledger.look("m", trace: [1, 2, 3, 4, 5], now: Self.now)
        #expect(ledger["m"]?.wholeTrace != nil)
        _ = ledger.ask("m", claimID: "c", score: nil, snapshot: "AQID", now: Self.now)
        _ = ledger.grant("m", claimID: "c", now: Self.now)
        ledger.stopSharing()
        ledger.displayed("m", eventID: "s", now: Self.now)
        #expect(ledger.outbox.map(\.type) == [.shown])
        #expect(ledger.outbox[0].snapshot == nil && ledger.outbox[0].trace == nil)
        #expect(ledger.openCounts[9] == 1)
    }

    @Test(
        "writes base64 as RFC 4648 says", arguments: [[], [1], [1, 2], [1, 2, 3], [255, 254, 253, 252]] as [[UInt8]])
    func base64(bytes: [UInt8]) {
        #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
    }
}

/// Counts how often it is decoded.
private struct CountedValue: Codable, Sendable, Equatable {
    static let decodings = Locked(0)

    var number = 0

    init() {}

    init(from decoder: any Decoder) throws {
        number = try decoder.singleValueContainer().decode(Int.self)
        Self.decodings.with { $0 += 1 }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}
