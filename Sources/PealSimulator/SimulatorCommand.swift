package import ArgumentParser
@preconcurrency import Dispatch
import Foundation
import Logging

/// `peal-sim`: starts a simulator and runs it until SIGTERM or SIGINT.
package struct SimulatorCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "peal-sim",
        abstract: "Simulates push networks: APNs over HTTP/2 and TLS, with an inbox to read back what was sent.")

    @Option(help: "Directory for simulator.json, ca.pem and apns-key.p8.")
    var directory: String

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "Port of APNs in production; 0 takes a free one.")
    var apnsPort = 0

    @Option(help: "Port of APNs in the sandbox; 0 takes a free one.")
    var sandboxPort = 0

    @Option(help: "Port of the control interface; 0 takes a free one.")
    var controlPort = 0

    @Option(help: "strict checks what APNs checks; fast accepts and counts.")
    var mode = SimulatorMode.strict

    @Option(help: "YAML file of fault rules.")
    var script: String?

    @Option(help: "Seed of everything that is drawn by chance.")
    var seed: UInt64 = 1

    @Option(help: "Seconds by which the simulator's clock is ahead; negative: behind.")
    var clockSkewSeconds: Int64 = 0

    @Option(help: "Event loops.")
    var threads = 1

    package init() {}

    /// Starts, prints where, and waits for a signal.
    package mutating func run() async throws {
        var options = SimulatorOptions(directory: directory)
        options.host = host
        options.apnsPort = apnsPort
        options.sandboxPort = sandboxPort
        options.controlPort = controlPort
        options.mode = mode
        options.scriptYAML = try script.map(Self.read)
        options.seed = seed
        options.clock = .system(skewSeconds: clockSkewSeconds)
        options.threads = threads
        let signals = Self.signals()
        let simulator = try await Simulator.start(options)
        Logger(label: "peal-sim").info(
            "The simulator is ready",
            metadata: [
                "apns": "\(simulator.description.apnsURL)", "sandbox": "\(simulator.description.apnsSandboxURL)",
                "control": "\(simulator.description.controlURL)", "mode": "\(mode.rawValue)",
            ])
        for await _ in signals { break }
        await simulator.stop()
    }

    private static func read(_ path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw SimulatorError("script: cannot read \(path): \(error.localizedDescription)")
        }
    }

    /// SIGTERM and SIGINT as they come.
    private static func signals() -> AsyncStream<Int32> {
        AsyncStream { continuation in
            let sources = [SIGTERM, SIGINT].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler { continuation.yield(number) }
                source.resume()
                return source
            }
            continuation.onTermination = { _ in for source in sources { source.cancel() } }
        }
    }
}

extension SimulatorMode: ExpressibleByArgument {}
