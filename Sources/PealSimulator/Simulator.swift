import Crypto
import Foundation
import Logging
import NIOCore
import NIOPosix

/// A running simulator: APNs for production and sandbox, and the control interface.
package final class Simulator: Sendable {
    /// What was written to `simulator.json`.
    package let description: SimulatorDescription
    /// The parts that a test in the same process may use directly.
    package let inbox: Inbox
    package let keys: KeyRing
    package let marks: DeviceMarks
    package let faults: FaultPlan

    private let group: MultiThreadedEventLoopGroup
    private let listeners: [any Channel]
    private let connections: ListenerSet

    private init(
        description: SimulatorDescription, parts: SimulatorParts, group: MultiThreadedEventLoopGroup,
        listeners: [any Channel], connections: ListenerSet
    ) {
        self.description = description
        self.inbox = parts.inbox
        self.keys = parts.keys
        self.marks = parts.marks
        self.faults = parts.faults
        self.group = group
        self.listeners = listeners
        self.connections = connections
    }

    /// Makes certificates and keys, opens the listeners, and writes `simulator.json` last. Throws when the directory
    /// cannot be written, a port is taken, or the script is wrong; nothing is left running then.
    package static func start(_ options: SimulatorOptions) async throws -> Simulator {
        let parts = try SimulatorParts(options)
        let folder = try SimulatorFolder(options.directory)
        let authority = try CertificateAuthority(now: Date())
        let signingKey = P256.Signing.PrivateKey()
        try parts.keys.set(
            ProviderKey(
                teamID: SimulatorDescription.teamID, publicKeyPEM: signingKey.publicKey.pemRepresentation,
                bundleIDs: [SimulatorDescription.bundleID]),
            id: SimulatorDescription.keyID)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, options.threads))
        do {
            let connections = ListenerSet()
            let plan = try ListenerPlan(
                options: options, parts: parts, identity: authority.serverIdentity(now: Date()), group: group,
                connections: connections)
            let listeners = try await plan.open()
            let description = SimulatorDescription(
                host: options.host, apnsPort: listeners.apns.localPort, sandboxPort: listeners.sandbox.localPort,
                controlPort: listeners.control.localPort, mode: options.mode, folder: folder)
            try folder.write(authority: authority.certificatePEM, key: signingKey.pemRepresentation, description)
            return Simulator(
                description: description, parts: parts, group: group, listeners: listeners.all,
                connections: connections)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Takes no more connections, says GOAWAY `Shutdown` to the open ones, and ends.
    package func stop() async {
        for listener in listeners { try? await listener.close().get() }
        let open = connections.open
        for connection in open {
            connection.pipeline.fireUserInboundEventTriggered(Farewell(reason: "Shutdown"))
        }
        for connection in open { try? await connection.closeFuture.get() }
        try? await group.shutdownGracefully()
    }
}
