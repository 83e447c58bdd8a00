internal import ArgumentParser
import Foundation
import PealCore

/// `peal-lab torture`: real programs, real faults, and the push network's record of what arrived.
struct TortureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture",
        abstract: "Send messages while servers are killed, paused and starved, and count what arrived.",
        discussion: """
            For each seed it prints accepted = delivered + rejected + expired + suppressed, what was lost (0), \
            duplicates with their bound, and the longest stall. Exits with 1 if a seed breaks one of these.
            """)

    @Option(help: "Seed of the schedule of messages and faults. The same seed repeats it.")
    var seed: UInt64 = 1

    @Option(help: "Number of seeds, from --seed on.")
    var runs = 1

    @Option(help: "Seconds in which messages are sent and faults occur.")
    var seconds = 30.0

    @Option(help: "Messages of each run.")
    var messages = 60

    @Option(help: "Devices.")
    var devices = 2000

    @Option(help: "SIGKILLs at random.")
    var kills = 3

    @Option(
        help: "Other faults, separated by commas, or none: pause, silence, connections, answers, queues, disk, clock.")
    var faults = "pause,silence,connections,answers,queues,disk,clock"

    @Option(help: "Folder with peal and peal-sim. Default: that of this program.")
    var binaries: String?

    @Option(help: "URI of the store, or postgres for a new PostgreSQL database. Default: a new SQLite database.")
    var store: String?

    @Option(help: "Servers on one store.")
    var nodes = 1

    @Option(help: "PEAL_DELIVERY_PAGES_IN_FLIGHT. A small number makes the bound of duplicates tight.")
    var pages = 2

    @Option(help: "Seconds that the servers may take after the last fault.")
    var drain = 180.0

    @Flag(help: "Print one JSON object for each seed, and nothing else.")
    var json = false

    func validate() throws {
        guard seconds > 0, messages > 0, devices > 0, kills >= 0, runs > 0, pages > 0, nodes > 0 else {
            throw ValidationError("--kills must not be negative, other numbers must be positive")
        }
        let isFile = store?.hasPrefix("sqlite:") ?? true
        guard nodes == 1 || !isFile else {
            throw ValidationError("--nodes above 1 needs --store: only one server can use an SQLite file")
        }
        _ = try chosenFaults()
    }

    private func chosenFaults() throws -> Set<TortureFault> {
        let names = faults == "none" ? [] : faults.split(separator: ",").map(String.init)
        return Set(
            try names.map { name in
                guard let fault = TortureFault(rawValue: name) else {
                    throw ValidationError("--faults: \(name) is unknown")
                }
                return fault
            })
    }

    func run() async throws {
        var hasFailed = false
        for index in 0..<runs {
            if try await !run(seed: seed &+ UInt64(index)) { hasFailed = true }
        }
        if hasFailed { throw ExitCode(1) }
    }

    /// Returns whether all checks passed.
    private func run(seed: UInt64) async throws -> Bool {
        var plan = TortureSchedule.Plan()
        (plan.seed, plan.seconds, plan.messages, plan.devices) = (seed, seconds, messages, devices)
        (plan.kills, plan.nodes, plan.faults) = (kills, nodes, try chosenFaults())
        let own = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent().path ?? "."
        var setting = TortureSetting(binaries: binaries ?? own)
        (setting.store, setting.pagesInFlight, setting.drainSeconds) = (store, pages, drain)
        let isQuiet = json
        let run = TortureRun(TortureSchedule(plan), setting) { if !isQuiet { StandardStream.print("  \($0)") } }
        do {
            let result = try await run.run()
            StandardStream.print(json ? Self.document(seed, result).text : Self.text(seed, result))
            return result.verdict.violations.isEmpty
        } catch {
            let text = "seed \(seed): could not be run: \(error)"
            StandardStream.print(
                json ? (["seed": .string("\(seed)"), "error": .string("\(error)")] as JSON).text : text)
            return false
        }
    }

    private static func text(_ seed: UInt64, _ result: TortureRun.Result) -> String {
        let verdict = result.verdict
        let sum =
            "accepted \(verdict.accepted) = delivered \(verdict.delivered) + rejected \(verdict.rejected)"
            + " + expired \(verdict.expired) + suppressed \(verdict.suppressed)"
        var lines = [
            "seed \(seed): \(sum); lost \(verdict.lost); duplicates \(verdict.duplicates)"
                + " (at most \(verdict.duplicatesMax)); longest stall \(tenths(result.longestStall)) s;"
                + " took \(tenths(result.seconds)) s"
        ]
        lines += result.resent.map { ["  the servers count \($0) as resent"] } ?? []
        lines += result.skipped.map { "  skipped \($0)" }
        lines += verdict.violations.map { "  VIOLATED: \($0)" }
        lines += result.folder.map { ["  logs in \($0)"] } ?? []
        return lines.joined(separator: "\n")
    }

    private static func tenths(_ seconds: Double) -> String { "\((seconds * 10).rounded() / 10)" }

    private static func document(_ seed: UInt64, _ result: TortureRun.Result) -> JSON {
        let verdict = result.verdict
        let numbers: [(String, Int)] = [
            ("accepted", verdict.accepted), ("delivered", verdict.delivered), ("rejected", verdict.rejected),
            ("expired", verdict.expired), ("suppressed", verdict.suppressed), ("lost", verdict.lost),
            ("duplicates", verdict.duplicates), ("duplicates_max", verdict.duplicatesMax),
            ("longest_stall_ms", Int(result.longestStall * 1000)), ("took_ms", Int(result.seconds * 1000)),
        ]
        return JSON.compact(
            [("seed", .string("\(seed)"))] + numbers.map { ($0.0, .number("\($0.1)")) } + [
                ("skipped", .array(result.skipped.map(JSON.string))),
                ("violations", .array(verdict.violations.map(JSON.string))),
                ("logs", result.folder.map(JSON.string)),
            ])
    }
}
