import ArgumentParser
import Foundation
import PealCore

/// `peal-lab fuzz`: feeds the HTTP/2 connection random inputs until one fails or the limit is reached.
/// It prints without buffering, because the next input may crash the process.
struct FuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz", abstract: "Feed mutated frames and header blocks to the HTTP/2 connection.")

    @Option(help: "Target: frames, hpack or connection. Default: all in turn.")
    var target: FuzzTarget?

    @Option(help: "Number of inputs for each target. Default: as many as time allows.")
    var runs: Int?

    @Option(help: "Seconds for all targets together.")
    var seconds: Double?

    @Option(help: "Seed. The same seed repeats a run.")
    var seed: UInt64 = 1

    @Option(help: "Directory with initial inputs, besides the built-in ones.")
    var corpus: String?

    @Option(help: "Directory to write a failing input to.")
    var artifacts = "fuzz-artifacts"

    @Option(help: "Run only the input in this file. Requires --target.")
    var replay: String?

    func validate() throws {
        guard replay == nil || target != nil else { throw ValidationError("--replay requires --target") }
        guard runs ?? 0 >= 0, (0...1e9).contains(seconds ?? 0) else {
            throw ValidationError("--runs must not be negative, and --seconds must be 0 to 1000000000")
        }
    }

    func run() throws {
        if let replay, let target { return try repeatInput(replay, target) }
        let targets = target.map { [$0] } ?? FuzzTarget.allCases
        for target in targets { try fuzz(target, seconds: seconds.map { $0 / Double(targets.count) }) }
    }

    private func repeatInput(_ path: String, _ target: FuzzTarget) throws {
        let (violations, signature) = target.run(Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        StandardStream.print(signature.sorted().joined(separator: "\n"))
        guard violations.isEmpty else {
            StandardStream.print(violations.joined(separator: "\n"))
            throw ExitCode(1)
        }
    }

    private func fuzz(_ target: FuzzTarget, seconds: Double?) throws {
        var fuzzer = Fuzzer(target, seed: seed, corpus: try corpusInputs())
        let running = try RunningInput(folder: artifacts, target: target, seed: seed)
        StandardStream.print("\(target.rawValue): seed \(seed), the current input is in \(running.path)")
        let clock = ContinuousClock()
        let start = clock.now
        let end = seconds.map { start + .seconds($0) }
        // Without a limit, runs a fixed number.
        let most = runs ?? (seconds == nil ? 100_000 : Int.max)
        do throws(Fuzzer.Failure) {
            while fuzzer.runCount < most, end.map({ clock.now < $0 }) ?? true {
                try fuzzer.run(min(200, most - fuzzer.runCount)) { running.write($0) }
            }
        } catch {
            StandardStream.print(
                "\(error)\nRepeat it with: peal-lab fuzz --target \(target.rawValue) --replay \(running.path)")
            throw ExitCode(1)
        }
        running.remove()
        let took = start.duration(to: clock.now)
        StandardStream.print(
            "\(target.rawValue): \(fuzzer.runCount) inputs, \(fuzzer.behaviourCount) behaviours, \(took), no failure"
        )
    }

    private func corpusInputs() throws -> [[UInt8]] {
        guard let corpus else { return [] }
        let folder = URL(fileURLWithPath: corpus, isDirectory: true)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.path < $1.path }.map { Array(try Data(contentsOf: $0)) }
    }
}

extension FuzzTarget: ExpressibleByArgument {}
