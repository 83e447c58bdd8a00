import Foundation
import Logging
import NIOCore
import NIOPosix

/// A running simulator: every push network, and the control interface.
package final class Simulator: Sendable {
    /// The content of `simulator.json`.
    package let description: SimulatorDescription
    /// What the devices received.
    let inbox: Inbox

    private let group: MultiThreadedEventLoopGroup
    private let listeners: [any Channel]
    private let connections: ListenerSet

    private init(
        description: SimulatorDescription, inbox: Inbox, group: MultiThreadedEventLoopGroup,
        listeners: [any Channel], connections: ListenerSet
    ) {
        self.description = description
        self.inbox = inbox
        self.group = group
        self.listeners = listeners
        self.connections = connections
    }

    /// Creates certificates and keys, or reuses those of an earlier run in the same directory, opens the listeners, and
    /// writes `simulator.json` last. Throws when the directory cannot be written, a port is taken, or the script is
    /// invalid; nothing is left running then.
    package static func start(_ options: SimulatorOptions) async throws -> Simulator {
        let kept = CertificateAuthority(
            keptCertificate: SimulatorFolder.kept(.authority, in: options.directory),
            key: SimulatorFolder.kept(.authorityKey, in: options.directory), now: Date())
        let authority = try kept ?? CertificateAuthority(now: Date())
        let parts = try SimulatorParts(options, authority)
        let folder = try SimulatorFolder(options.directory)
        try folder.write(authority.keyPEM + "\n", to: .authorityKey)
        try folder.write(authority.certificatePEM + "\n", to: .authority)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, options.threads))
        do {
            let connections = ListenerSet()
            let plan = ListenerPlan(
                host: options.host, identity: try authority.serverIdentity(now: Date()), group: group,
                connections: connections)
            let listeners = parts.listeners
            let channels = try await plan.open(listeners)
            var description = SimulatorDescription(
                host: options.host, listeners: listeners.map { ($0.name, channels[$0.name]?.localPort ?? 0) },
                mode: options.mode, folder: folder)
            for network in parts.networks {
                let members = try await network.publish(at: description)
                if !members.isEmpty { description.add(type(of: network).name, members) }
            }
            try folder.write(description.json, to: .description)
            return Simulator(
                description: description, inbox: parts.shared.inbox, group: group, listeners: Array(channels.values),
                connections: connections)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Closes the listeners, sends GOAWAY `Shutdown` on open connections, and returns when they are closed.
    package func stop() async {
        for listener in listeners { try? await listener.close().get() }
        let open = connections.open
        for connection in open {
            connection.pipeline.fireUserInboundEventTriggered(ShutdownEvent(reason: "Shutdown"))
            // A connection still in its handshake has no handler for the event.
            connection.eventLoop.scheduleTask(in: .milliseconds(2 * SimulatorLimits.goAwayGraceMilliseconds)) {
                connection.close(promise: nil)
            }
        }
        for connection in open { try? await connection.closeFuture.get() }
        try? await group.shutdownGracefully()
    }
}

/// How to start a simulator.
package struct SimulatorOptions: Sendable {
    /// Where `simulator.json`, certificates and keys are written; created if it does not exist.
    package var directory: String
    /// The address of every listener.
    package var host = "127.0.0.1"
    /// TCP ports; a listener that is not named takes a free one, as 0 does.
    package var ports: [ListenerName: Int] = [:]
    package var mode = SimulatorMode.strict
    /// A fault script in YAML.
    package var scriptYAML: String?
    /// Seeds the random numbers for rates, and generated ids.
    package var seed: UInt64 = 1
    /// The source of the simulator's time.
    package var clock = SimulatorClock.system()
    /// Lifetime of access tokens of FCM and WNS; nil for that of Google's and Microsoft's.
    package var accessTokenSeconds: Int64?
    /// Error points after which APNs closes a connection.
    package var errorsPerConnectionMax = SimulatorLimits.errorsPerConnectionMax
    /// Whether APNs lowers the stream limit to 1 after a refusal, until the next success.
    package var slowsDownAfterRefusal = false
    /// The number of event loops, and therefore of cores in use.
    package var threads = 1

    /// Defaults, with the files in `directory`.
    package init(directory: String) {
        self.directory = directory
    }
}

/// How closely the simulator checks what it receives.
package enum SimulatorMode: String, Sendable, CaseIterable {
    /// Checks what the real networks check, and keeps every notification.
    case strict
    /// Accepts and counts everything at the lowest cost, for benchmarks.
    case fast
}
