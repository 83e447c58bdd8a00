import Crypto
import Foundation
import Logging
import NIOCore
import NIOPosix

/// A running simulator: five push networks, and the control interface.
package final class Simulator: Sendable {
    /// What was written to `simulator.json`.
    package let description: SimulatorDescription
    /// The parts that a test in the same process may use directly.
    package let inbox: Inbox
    package let keys: KeyRing
    package let marks: DeviceMarks
    package let faults: FaultPlan
    package let channelStates: ChannelStates
    package let accessTokens: AccessTokens

    private let parts: SimulatorParts
    private let group: MultiThreadedEventLoopGroup
    private let listeners: [any Channel]
    private let connections: ListenerSet

    private init(
        description: SimulatorDescription, parts: SimulatorParts, group: MultiThreadedEventLoopGroup,
        listeners: [any Channel], connections: ListenerSet
    ) {
        self.description = description
        self.parts = parts
        self.inbox = parts.inbox
        self.keys = parts.keys
        self.marks = parts.marks
        self.faults = parts.faults
        self.channelStates = parts.channelStates
        self.accessTokens = parts.accessTokens
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
        let hasP12 = try await writeIdentities(folder, authority, parts)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, options.threads))
        do {
            let connections = ListenerSet()
            let plan = ListenerPlan(
                host: options.host, identity: try authority.serverIdentity(now: Date()), group: group,
                connections: connections)
            let listeners = try await plan.open(
                parts.orders(ClientCertificateJudge(authorityKey: authority.publicKey)))
            let description = SimulatorDescription(
                host: options.host, ports: listeners.mapValues(\.localPort), mode: options.mode, folder: folder,
                microsoftAccount: parts.microsoftAccount, hasP12: hasP12)
            parts.subscriptions.open(at: description.webPushURL)
            try folder.write(parts.serviceAccount.json(tokenURL: description.fcmTokenURL), to: .serviceAccount)
            try folder.write(description.json, to: .description)
            return Simulator(
                description: description, parts: parts, group: group, listeners: Array(listeners.values),
                connections: connections)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Writes the authority's certificate, the provider key, and the client certificate; says whether the latter is
    /// there in PKCS#12 too.
    private static func writeIdentities(
        _ folder: SimulatorFolder, _ authority: CertificateAuthority, _ parts: SimulatorParts
    ) async throws -> Bool {
        let signingKey = P256.Signing.PrivateKey()
        try parts.keys.set(
            ProviderKey(
                teamID: SimulatorDescription.teamID, publicKeyPEM: signingKey.publicKey.pemRepresentation,
                bundleIDs: [SimulatorDescription.bundleID]),
            id: SimulatorDescription.keyID)
        let client = try authority.clientIdentity(bundleID: SimulatorDescription.bundleID, now: Date())
        try folder.write(authority.certificatePEM + "\n", to: .authority)
        try folder.write(signingKey.pemRepresentation + "\n", to: .apnsKey)
        try folder.write(client.certificatePEM + "\n", to: .certificate)
        try folder.write(client.keyPEM + "\n", to: .certificateKey)
        return await folder.writeP12()
    }

    /// Makes a subscription of Web Push, as `POST /webpush/subscriptions` does; gives its JSON.
    package func subscribe(applicationServerKey: String? = nil) throws -> String {
        try parts.subscriptions.make(applicationServerKey: applicationServerKey)
    }

    /// Takes no more connections, says GOAWAY `Shutdown` to the open ones, and ends.
    package func stop() async {
        for listener in listeners { try? await listener.close().get() }
        let open = connections.open
        for connection in open {
            connection.pipeline.fireUserInboundEventTriggered(Farewell(reason: "Shutdown"))
            // One that has not even agreed on a protocol hears no farewell.
            connection.eventLoop.scheduleTask(in: .milliseconds(2 * SimulatorLimits.goAwayGraceMilliseconds)) {
                connection.close(promise: nil)
            }
        }
        for connection in open { try? await connection.closeFuture.get() }
        try? await group.shutdownGracefully()
    }
}

/// How a simulator is to be started.
package struct SimulatorOptions: Sendable {
    /// Where `simulator.json`, certificates and keys are written; made when it is missing.
    package var directory: String
    /// The address of every listener.
    package var host = "127.0.0.1"
    /// TCP ports; 0 takes a free one.
    package var apnsPort = 0
    package var sandboxPort = 0
    package var managementPort = 0
    package var sandboxManagementPort = 0
    package var fcmPort = 0
    package var wnsPort = 0
    package var mpnsPort = 0
    package var mpnsSecurePort = 0
    package var webPushPort = 0
    package var controlPort = 0
    package var mode = SimulatorMode.strict
    /// A fault script in YAML.
    package var scriptYAML: String?
    /// Draws for rates and for made-up ids.
    package var seed: UInt64 = 1
    /// How the simulator's time runs.
    package var clock = SimulatorClock.system()
    /// Seconds that access tokens of FCM and WNS live; nil for as long as those of Google and Microsoft.
    package var accessTokenSeconds: Int64?
    /// Points of errors after which APNs ends a connection.
    package var errorsPerConnectionMax = SimulatorLimits.errorsPerConnectionMax
    /// Whether APNs lowers the stream limit to 1 after a refusal, until the next success.
    package var slowsDownAfterRefusal = false
    /// Event loops: the simulator uses that many cores.
    package var threads = 1

    /// Options that write into `directory` and are otherwise as standard.
    package init(directory: String) {
        self.directory = directory
    }
}

/// How closely the simulator looks at what it is sent.
package enum SimulatorMode: String, Sendable, CaseIterable {
    /// Everything that the real network checks is checked, and every notification is kept.
    case strict
    /// Everything is accepted and only counted, at the least cost, for benchmarks.
    case fast
}
