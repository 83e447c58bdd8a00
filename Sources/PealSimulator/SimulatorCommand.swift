package import ArgumentParser
@preconcurrency import Dispatch
import Foundation
import Logging

/// `peal-sim`: runs a simulator until SIGTERM or SIGINT.
package struct SimulatorCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "networks",
        abstract: "Simulate APNs, FCM, WNS, MPNS and Web Push, with an inbox of what was sent.")

    @Option(help: "Directory to write simulator.json, certificates and keys to.")
    var directory: String

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "Port of APNs in production; 0 selects a free port.")
    var apnsPort = 0

    @Option(help: "Port of APNs in the sandbox; 0 selects a free port.")
    var sandboxPort = 0

    @Option(help: "Port of APNs' channel management in production; 0 selects a free port.")
    var managementPort = 0

    @Option(help: "Port of APNs' channel management in the sandbox; 0 selects a free port.")
    var sandboxManagementPort = 0

    @Option(help: "Port of FCM; 0 selects a free port.")
    var fcmPort = 0

    @Option(help: "Port of WNS; 0 selects a free port.")
    var wnsPort = 0

    @Option(help: "Port of MPNS without TLS; 0 selects a free port.")
    var mpnsPort = 0

    @Option(help: "Port of MPNS with TLS, for authenticated services; 0 selects a free port.")
    var mpnsSecurePort = 0

    @Option(help: "Port of Web Push; 0 selects a free port.")
    var webpushPort = 0

    @Option(help: "Port of the control interface; 0 selects a free port.")
    var controlPort = 0

    @Option(help: "strict: check what the networks check; fast: accept and count everything.")
    var mode = SimulatorMode.strict

    @Option(help: "YAML file with fault rules.")
    var script: String?

    @Option(help: "Seed of all random choices.")
    var seed: UInt64 = 1

    @Option(help: "Seconds that the simulator's clock is ahead; negative if it is behind.")
    var clockSkewSeconds: Int64 = 0

    @Option(help: "Lifetime of access tokens of FCM and WNS in seconds. Default: as Google and Microsoft do.")
    var accessTokenSeconds: Int64?

    @Option(help: "Error points after which APNs closes a connection; BadDeviceToken counts two.")
    var errorsPerConnectionMax = SimulatorLimits.errorsPerConnectionMax

    @Flag(help: "Let APNs lower the stream limit to 1 after a refusal, until the next success.")
    var streamLimitAfterRefusal = false

    @Option(help: "Number of event loops.")
    var threads = 1

    package init() {}

    /// Rejects invalid numbers.
    package func validate() throws {
        if let accessTokenSeconds, accessTokenSeconds < 1 {
            throw ValidationError("--access-token-seconds must be positive")
        }
        if errorsPerConnectionMax < 1 { throw ValidationError("--errors-per-connection-max must be positive") }
    }

    /// Starts the simulator, logs its addresses, and waits for a signal.
    package mutating func run() async throws {
        let options = try options()
        let signals = Self.signals()
        let simulator = try await Simulator.start(options)
        Logger(label: "peal-sim").info(
            "simulator is ready",
            metadata: [
                "apns": "\(simulator.description.url(.apns))", "fcm": "\(simulator.description.url(.fcm))",
                "control": "\(simulator.description.url(.control))", "mode": "\(mode.rawValue)",
            ])
        for await _ in signals { break }
        await simulator.stop()
    }

    private func options() throws -> SimulatorOptions {
        var options = SimulatorOptions(directory: directory)
        options.host = host
        options.ports = [
            .apns: apnsPort, .apnsSandbox: sandboxPort, .apnsManagement: managementPort,
            .apnsSandboxManagement: sandboxManagementPort, .fcm: fcmPort, .wns: wnsPort, .mpns: mpnsPort,
            .mpnsSecure: mpnsSecurePort, .webPush: webpushPort, .control: controlPort,
        ]
        options.mode = mode
        options.scriptYAML = try script.map(Self.read)
        options.seed = seed
        options.clock = .system(skewSeconds: clockSkewSeconds)
        options.accessTokenSeconds = accessTokenSeconds
        options.errorsPerConnectionMax = errorsPerConnectionMax
        options.slowsDownAfterRefusal = streamLimitAfterRefusal
        options.threads = threads
        return options
    }

    private static func read(_ path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw SimulatorError("script: cannot read \(path): \(error.localizedDescription)")
        }
    }

    /// The signals SIGTERM and SIGINT.
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
