internal import ArgumentParser
import Foundation
import PealCore

/// `peal-lab lifecycles`: random courses of messages with delivery windows on the real store.
struct LifecyclesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lifecycles",
        abstract:
            "Run messages with delivery windows through lost, duplicated and late packets, crashes and skewed clocks.")

    @Option(help: "Number of messages.")
    var count = 10_000

    @Option(help: "Seed. The same seed repeats a run.")
    var seed: UInt64 = 1

    @Option(help: "Directory for databases; a fast disk helps. Default: the system's temporary directory.")
    var directory: String?

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count must be positive") }
    }

    func run() async throws {
        let total = try await LifecycleRun(count: count, seed: seed, directory: directory).run { done in
            try? StandardStream.error.write("\r\(done) of \(count)")
        }
        print("\n\(total.report)")
        guard total.isSound else { throw ExitCode.failure }
    }
}

/// What happened in many lifecycles.
package struct LifecycleTotals: Sendable, Equatable {
    package var count = 0
    /// Messages that alerted twice.
    package var doubled = 0
    /// Displays after a cancellation had been confirmed.
    package var shownAfterCancel = 0
    /// Displays of content that had been replaced.
    package var outdated = 0
    /// Alerts to a device of another user.
    package var leaked = 0
    /// Messages that were neither cancelled nor delivered.
    package var unattempted = 0
    /// Messages that have not ended a day after everything else.
    package var unfinished = 0
    /// How often each tested situation occurred.
    package var seen: [String: Int] = [:]

    package var isSound: Bool {
        doubled + shownAfterCancel + outdated + leaked + unattempted + unfinished == 0
    }

    var report: String {
        let faults = [
            ("alerted twice", doubled), ("shown after cancel", shownAfterCancel), ("outdated", outdated),
            ("leaked", leaked), ("unattempted", unattempted), ("unfinished", unfinished),
        ]
        let lines = [("lifecycles", count)] + faults + seen.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return lines.map { "\($0.0): \($0.1)" }.joined(separator: "\n")
    }

    mutating func add(_ other: LifecycleTotals) {
        count += other.count
        doubled += other.doubled
        shownAfterCancel += other.shownAfterCancel
        outdated += other.outdated
        leaked += other.leaked
        unattempted += other.unattempted
        unfinished += other.unfinished
        seen.merge(other.seen) { $0 + $1 }
    }
}

extension Dice {
    mutating func happens(_ chance: Double) -> Bool { Double(next() >> 11) / 9_007_199_254_740_992 < chance }
    mutating func id<Of>() -> Identifier<Of> { Identifier(high: next() & ~0xF000 | 0x4000, low: next()) }
}
