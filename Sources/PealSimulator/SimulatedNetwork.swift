/// A push network as the simulator implements it. Each has a folder with the same files (`Simulated…` with its service,
/// `…Judge` with its refusals) and one line in `SimulatedNetworks.all`. Elsewhere, only the command line's port options
/// name networks; the listeners of a network without options take free ports.
protocol SimulatedNetwork: Sendable {
    /// The network's name in fault scripts, in the inbox and in `simulator.json`.
    static var name: String { get }
    /// Whether letter case in a device's name is ignored.
    static var ignoresDeviceCase: Bool { get }
    /// The member of an inbox item that repeats the notification's id under the network's own name, if any.
    static var idMember: String? { get }

    /// The HTTP status of an `error_code` in a fault script; nil when the network has no such code.
    static func status(ofErrorCode code: String) -> Int?
    /// The payload that the inbox shows for a body kept in fast mode.
    static func payload(ofBody body: [UInt8]) -> [UInt8]

    /// Creates the network's credentials and its state. Throws when a key cannot be generated.
    init(_ parts: SharedParts) throws

    /// Its listeners, in the order in which `simulator.json` gives their URLs.
    var listeners: [Listener] { get }

    /// Answers a request to the control interface that only this network understands; nil for any other.
    func control(_ request: ControlRequest) throws -> HTTPAnswer?

    /// Writes the files that clients need, now that the listeners are open. Returns the members of the network's
    /// object in `simulator.json`; without members there is no object.
    func publish(at description: SimulatorDescription) async throws -> [(String, String)]
}

extension SimulatedNetwork {
    static var ignoresDeviceCase: Bool { false }
    static var idMember: String? { nil }

    static func status(ofErrorCode code: String) -> Int? { nil }
    static func payload(ofBody body: [UInt8]) -> [UInt8] { PayloadJSON.of(body) }

    func control(_ request: ControlRequest) throws -> HTTPAnswer? { nil }
    func publish(at description: SimulatorDescription) async throws -> [(String, String)] { [] }
}

/// The networks that are simulated.
enum SimulatedNetworks {
    /// The list. Summaries and `simulator.json` keep its order.
    static let all: [any SimulatedNetwork.Type] = [
        SimulatedAPNs.self,
        SimulatedFCM.self,
        SimulatedWNS.self,
        SimulatedMPNS.self,
        SimulatedWebPush.self,
    ]

    /// The HTTP status of `code`, an `error_code` of any network.
    static func status(ofErrorCode code: String) -> Int? {
        all.lazy.compactMap { $0.status(ofErrorCode: code) }.first
    }
}

/// A simulated network by its position in `SimulatedNetworks.all`: small enough to be used for counting at full speed.
package struct PushProvider: RawRepresentable, CaseIterable, Hashable, Sendable {
    /// The position in the list, from 0.
    let index: Int

    /// The network itself.
    var network: any SimulatedNetwork.Type { SimulatedNetworks.all[index] }

    package var rawValue: String { network.name }

    package static var allCases: [PushProvider] { SimulatedNetworks.all.indices.map(PushProvider.init(index:)) }

    init(index: Int) {
        self.index = index
    }

    package init?(rawValue: String) {
        guard let index = SimulatedNetworks.all.firstIndex(where: { $0.name == rawValue }) else { return nil }
        self.index = index
    }

    /// The provider of a network that the list names.
    init(_ network: any SimulatedNetwork.Type) {
        guard let index = SimulatedNetworks.all.firstIndex(where: { $0 == network }) else {
            preconditionFailure("\(network.name) is missing from SimulatedNetworks.all")
        }
        self.index = index
    }
}

/// The two environments of APNs; other networks only have production.
package enum PushEnvironment: String, Sendable, CaseIterable {
    case production
    case sandbox
}

/// What the networks of one simulator share.
struct SharedParts: Sendable {
    let options: SimulatorOptions
    let inbox: Inbox
    let faults: FaultPlan
    let clock: SimulatorClock
    let ids: IDSource
    let authority: CertificateAuthority
    let certificates: ClientCertificateJudge
    let accessTokens: AccessTokenGrants
    /// The channels of WNS and MPNS that do not behave normally.
    let channelStates = ChannelStates()

    var mode: SimulatorMode { options.mode }

    /// Creates the shared parts. Throws when the script of `options` is invalid.
    init(_ options: SimulatorOptions, _ authority: CertificateAuthority) throws {
        self.options = options
        self.authority = authority
        inbox = Inbox(mode: options.mode)
        faults = FaultPlan(seed: options.seed)
        if let yaml = options.scriptYAML { faults.load(try FaultScript(yaml: yaml)) }
        clock = options.clock.skewed(by: faults.skew)
        ids = IDSource(seed: SeededRandom.mix(options.seed))
        accessTokens = AccessTokenGrants(ids: ids)
        certificates = ClientCertificateJudge(authorityKey: authority.publicKey)
    }

    /// What an earlier run wrote to `file` of the same directory; nil when there is none.
    func kept(_ file: SimulatorFolder.File) -> String? { SimulatorFolder.kept(file, in: options.directory) }

    /// A listener of `service`, on the port that the options name. `fast` serves HTTP/2 in fast mode.
    func listener(
        _ name: ListenerName, _ wire: Listener.Wire, _ service: any PushService, asksForCertificate: Bool = false,
        fast: (any FastService)? = nil
    ) -> Listener {
        let fastListener = fast.map { fast in
            FastListener(
                service: fast, provider: service.provider, environment: service.environment, inbox: inbox,
                faults: faults, clock: clock, ids: ids)
        }
        return Listener(
            name: name, port: options.ports[name] ?? 0, wire: wire, asksForCertificate: asksForCertificate,
            responder: ServiceResponder(service: service, inbox: inbox, faults: faults, clock: clock),
            fast: mode == .fast ? fastListener : nil)
    }
}

/// The parts of a simulator, except its open listeners.
struct SimulatorParts: Sendable {
    let shared: SharedParts
    let networks: [any SimulatedNetwork]

    /// Creates all networks. Throws when the script of `options` is invalid.
    init(_ options: SimulatorOptions, _ authority: CertificateAuthority) throws {
        let shared = try SharedParts(options, authority)
        self.shared = shared
        networks = try SimulatedNetworks.all.map { try $0.init(shared) }
    }

    /// The listeners of the networks, and the control interface.
    var listeners: [Listener] {
        networks.flatMap(\.listeners) + [
            Listener(
                name: .control, port: shared.options.ports[.control] ?? 0, wire: .plain,
                responder: ControlRoutes(parts: self))
        ]
    }

    /// The network of a type.
    func network<Network: SimulatedNetwork>(_ type: Network.Type) -> Network? {
        networks.lazy.compactMap { $0 as? Network }.first
    }
}
