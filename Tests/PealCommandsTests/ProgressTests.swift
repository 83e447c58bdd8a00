import PealCore
import Synchronization
import Testing

@testable import PealCommands

@Suite("Progress of long commands")
struct ProgressTests {
    /// A clock that is set by hand.
    private final class Clock: TimeSource {
        private let seconds = Mutex(0)

        var now: Timestamp { Timestamp(milliseconds: Int64(seconds.withLock { $0 }) * 1000) }
        var uptime: Duration { .seconds(seconds.withLock { $0 }) }
        var lag: Duration { .zero }

        func sleep(for duration: Duration) async throws {}
        func set(_ value: Int) { seconds.withLock { $0 = value } }
        func advance(_ value: Int) { seconds.withLock { $0 += value } }
    }

    private final class Lines: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    @Test("names share, rate and remaining time every few seconds, and the rate alone at the end")
    func report() {
        let (clock, lines) = (Clock(), Lines())
        let surroundings = Surroundings(
            environment: [:], print: { _ in }, warn: { lines.add($0) }, read: { _ in nil })
        Surroundings.$current.withValue(surroundings) {
            var progress = Progress(clock)
            progress.report(5, "0 refused", share: 0.001)
            clock.set(10)
            progress.report(1000, "3 refused", share: 0.25)
            clock.set(11)
            progress.report(1100, "3 refused", share: 0.27)
            clock.set(1000)
            progress.report(1200, share: 0.1)
            clock.set(2000)
            progress.report(4000, "3 refused", share: 1, isLast: true)
            clock.set(3000)
            progress.report(1, "in topic a", what: "subscription")
        }
        #expect(
            lines.all == [
                "1000 devices, 3 refused, 25%, 100/s, 30 s left", "1200 devices, 10%, 1/s, 2 h left",
                "4000 devices, 3 refused, 2/s", "1 subscription, in topic a, 0/s",
            ])
        #expect(Progress.line(0, of: 1, "device", "", rate: 0) == "0 of 1 device, 0%")
    }

    @Test("shows no share and no remaining time once there is more than was counted", arguments: [1, 1.2, 5])
    func beyond(share: Double) {
        let (clock, lines) = (Clock(), Lines())
        let surroundings = Surroundings(
            environment: [:], print: { _ in }, warn: { lines.add($0) }, read: { _ in nil })
        Surroundings.$current.withValue(surroundings) {
            var progress = Progress(clock)
            clock.set(10)
            progress.report(1000, share: share)
        }
        #expect(lines.all == ["1000 devices, 100/s"])
    }

    @Test("of an export ignores a count that lacks retired devices")
    func export() async throws {
        let (clock, lines) = (Clock(), Lines())
        try await ScriptedServer.with({ seen in
            if seen.method == "POST" { return .init(status: 200, body: #"{"devices":2}"#) }
            clock.advance(10)
            let page = seen.uri.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) } ?? 1
            let next = page < 4 ? "\"\(page + 1)\"" : "null"
            return .init(status: 200, body: #"{"items":[{"id":"\#(page)"}],"next_cursor":\#(next)}"#)
        }) { url, _ in
            let surroundings = Surroundings(
                environment: [
                    "PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": "0199b2c0-0000-7000-8000-000000000001",
                ],
                print: { _ in }, warn: { lines.add($0) }, read: { _ in nil }, time: clock)
            #expect(await PealProgram.run(["export"], in: surroundings) == 0)
        }
        #expect(lines.all.count == 4)
        #expect(lines.all.first?.contains("50%") == true && lines.all.first?.hasSuffix("10 s left") == true)
        #expect(lines.all.dropFirst().allSatisfy { !$0.contains("%") && !$0.contains("left") }, "\(lines.all)")
    }
}
