package import ArgumentParser
import Foundation

/// `peal-lab`: proofs and measurements that are no part of the server.
package struct LabCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "peal-lab", abstract: "The laboratory: what proves and measures Peal.",
        subcommands: [FuzzCommand.self])

    package init() {}
}

/// `peal-lab fuzz`: inputs by chance against the HTTP/2 connection, until something is wrong or it is enough.
package struct FuzzCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "fuzz", abstract: "Feeds the HTTP/2 connection with mutated frames and header blocks.")

    @Option(help: "frames, hpack or connection; all of them in turn when absent.")
    var target: FuzzTarget?

    @Option(help: "Inputs for each target; as many as time allows when absent.")
    var runs: Int?

    @Option(help: "Seconds for all targets together.")
    var seconds: Double?

    @Option(help: "Repeats what a former run with it did.")
    var seed: UInt64 = 1

    @Option(help: "Folder of inputs to begin with, beside the built-in ones.")
    var corpus: String?

    @Option(help: "Folder for the input that failed.")
    var artifacts = "fuzz-artifacts"

    @Option(help: "Runs the one input in this file; needs --target.")
    var replay: String?

    package init() {}

    package func validate() throws {
        guard replay == nil || target != nil else { throw ValidationError("--replay needs --target.") }
        guard runs ?? 0 >= 0, seconds ?? 0 >= 0 else {
            throw ValidationError("Neither runs nor seconds can be negative.")
        }
    }

    package func run() throws {
        if let replay, let target { return try repeatInput(replay, target) }
        let targets = target.map { [$0] } ?? FuzzTarget.allCases
        for target in targets { try fuzz(target, seconds: seconds.map { $0 / Double(targets.count) }) }
    }

    private func repeatInput(_ path: String, _ target: FuzzTarget) throws {
        let (violations, signature) = target.run(Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        say(signature.sorted().joined(separator: "\n"))
        guard violations.isEmpty else {
            say(violations.joined(separator: "\n"))
            throw ExitCode(1)
        }
    }

    private func fuzz(_ target: FuzzTarget, seconds: Double?) throws {
        var fuzzer = Fuzzer(target, seed: seed, corpus: try corpusInputs())
        let running = try RunningInput(folder: artifacts, target: target, seed: seed)
        say("\(target.rawValue): seed \(seed), the input at work is in \(running.path)")
        let clock = ContinuousClock()
        let start = clock.now
        let end = seconds.map { start + .seconds($0) }
        // Neither given: a bounded number.
        let most = runs ?? (seconds == nil ? 100_000 : Int.max)
        do throws(Fuzzer.Failure) {
            while fuzzer.runCount < most, end.map({ clock.now < $0 }) ?? true {
                try fuzzer.run(min(200, most - fuzzer.runCount)) { running.write($0) }
            }
        } catch {
            say("\(error)\nRepeat it with: peal-lab fuzz --target \(target.rawValue) --replay \(running.path)")
            throw ExitCode(1)
        }
        running.remove()
        let took = start.duration(to: clock.now)
        say(
            "\(target.rawValue): \(fuzzer.runCount) inputs, \(fuzzer.behaviourCount) behaviours, \(took), nothing wrong"
        )
    }

    /// At once, also into a pipe: the next input may be the last.
    private func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    private func corpusInputs() throws -> [[UInt8]] {
        guard let corpus else { return [] }
        let folder = URL(fileURLWithPath: corpus, isDirectory: true)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.sorted { $0.path < $1.path }.map { Array(try Data(contentsOf: $0)) }
    }
}

extension FuzzTarget: ExpressibleByArgument {}
