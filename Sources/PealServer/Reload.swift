internal import Crypto
internal import Foundation
internal import Logging
internal import PealAPI
internal import PealCore
internal import PealReports
internal import ServiceLifecycle
internal import Synchronization
internal import UnixSignals

/// Reads the configuration again when SIGHUP arrives, and applies what may change while the server runs: certificates,
/// trust roots, allowed hosts and ports, the admin token and the log level. An invalid configuration changes nothing.
struct ReloadService: Service {
    /// What the server was started with.
    let started: ServerConfiguration
    let load: @Sendable () async throws -> ServerConfiguration
    /// Each part takes its own keys from the new configuration.
    let parts: [(name: String, apply: @Sendable (ServerConfiguration) async throws -> Void)]
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in await UnixSignalsSequence(trapping: .sighup) { await reload() }
        }
    }

    func reload() async {
        let configuration: ServerConfiguration
        do {
            configuration = try await load()
            try configuration.checkFiles()
        } catch {
            return logger.error("the configuration was not reloaded", metadata: ["error": "\(error)"])
        }
        var failures: [String] = []
        for part in parts {
            do {
                try await part.apply(configuration)
            } catch {
                failures.append(part.name)
                logger.error(
                    "a part of the configuration was not reloaded",
                    metadata: ["part": "\(part.name)", "error": "\(error)"])
            }
        }
        if failures.isEmpty { logger.notice("the configuration was reloaded") }
        let names = configuration.keysForRestart(since: started).map(\.environmentName)
        guard !names.isEmpty else { return }
        logger.warning(
            "these keys have changed and take effect after a restart", metadata: ["keys": .array(names.map { "\($0)" })]
        )
    }
}

extension ServerConfiguration {
    /// The keys whose values differ from those of a running server, which a reload does not change.
    fileprivate func keysForRestart(since started: ServerConfiguration) -> [ConfigurationKey] {
        let reloaded = ConfigurationKey.reloaded
        return ConfigurationKey.all.filter { key in
            let (now, before) = (checked.value(key), started.checked.value(key))
            guard reloaded.contains(key) else { return now != before }
            // A reload replaces certificates but does not turn TLS on or off.
            return ConfigurationKey.listeners.contains(key) && (now == nil) != (before == nil)
        }
    }
}

/// A service that logs show by its name. Otherwise, libraries print a service with all its contents.
struct NamedService: Service, CustomStringConvertible {
    let description: String
    let service: any Service

    init(_ name: String, _ service: any Service) {
        description = name
        self.service = service
    }

    func run() async throws { try await service.run() }
}

/// A provider that can be replaced with one that has another configuration. The former provider completes the pages
/// that it was given.
final class ReloadableProvider: Provider {
    typealias Make = @Sendable (ServerConfiguration) throws -> any Provider

    private struct State {
        var provider: any Provider
        var fingerprint: [UInt8]
        /// The last count given to `share`, which a new provider also receives.
        var servers = 1
    }

    /// How long a former provider may take to finish its pages.
    private static let drainTimeout = Duration.seconds(Limits.drainSeconds)

    let name: ProviderName
    private let network: ServerNetwork
    private let make: Make
    private let state: Mutex<State>

    init(_ network: ServerNetwork, _ configuration: ServerConfiguration, make: @escaping Make) throws {
        name = network.network.name
        self.network = network
        self.make = make
        state = Mutex(
            State(provider: try make(configuration), fingerprint: Self.fingerprint(network, configuration)))
    }

    private var provider: any Provider { state.withLock { $0.provider } }

    /// Creates another provider if the configuration of this network or the trust roots have changed.
    /// - Throws: the error of creating it; in this case the current provider stays.
    func reload(_ configuration: ServerConfiguration, time: any TimeSource) throws {
        let fingerprint = Self.fingerprint(network, configuration)
        guard fingerprint != state.withLock({ $0.fingerprint }) else { return }
        let new = try make(configuration)
        let former = state.withLock { state in
            new.share(among: state.servers)
            defer { state = State(provider: new, fingerprint: fingerprint, servers: state.servers) }
            return state.provider
        }
        // Unstructured, because the reload does not wait for pages in flight.
        Task {
            try? await time.sleep(for: Self.drainTimeout)
            await former.close()
        }
    }

    /// What the provider depends on: the network's own keys and the content of the trust roots.
    private static func fingerprint(_ network: ServerNetwork, _ configuration: ServerConfiguration) -> [UInt8] {
        var hash = SHA256()
        for key in network.keys {
            hash.update(data: Array((configuration.checked.optional(key) ?? "").utf8) + [0])
        }
        if let file = configuration.caFile { hash.update(data: FileManager.default.contents(atPath: file) ?? Data()) }
        return Array(hash.finalize())
    }

    var channelDirectory: (any ChannelDirectory)? {
        provider.channelDirectory == nil ? nil : ReloadableChannels(provider: self)
    }

    fileprivate var channels: any ChannelDirectory { provider.channelDirectory ?? NoChannels() }

    func render(_ order: RenderOrder) throws(ContentRefusal) -> PealCore.Notification { try provider.render(order) }

    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        try provider.examine(credential, now: now)
    }

    func check(_ address: Address) throws(PealError) { try provider.check(address) }

    var reasons: Set<String> { provider.reasons }

    func doubtsEnvironment(_ reason: String) -> Bool { provider.doubtsEnvironment(reason) }

    func send(_ order: PageOrder) { provider.send(order) }

    func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        await provider.verify(credential, fingerprint: fingerprint, environment: environment)
    }

    func drain(fingerprint: String) { provider.drain(fingerprint: fingerprint) }

    func share(among servers: Int) {
        state.withLock { state in
            state.servers = servers
            state.provider.share(among: servers)
        }
    }

    func close() async { await provider.close() }
}

/// The broadcast channels of the current provider.
private struct ReloadableChannels: ChannelDirectory {
    let provider: ReloadableProvider

    func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String {
        try await provider.channels.create(policy, access)
    }

    func list(_ access: ChannelAccess) async throws(PealError) -> [String] {
        try await provider.channels.list(access)
    }

    func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy {
        try await provider.channels.read(channel, access)
    }

    func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError) {
        try await provider.channels.delete(channel, access)
    }
}

/// A webhook transport that can be replaced with one that has other trust roots.
final class ReloadableTransport: WebhookTransport {
    private let present: Mutex<any WebhookTransport>

    init(_ transport: any WebhookTransport) { present = Mutex(transport) }

    private var transport: any WebhookTransport { present.withLock { $0 } }

    func replace(by transport: any WebhookTransport, time: any TimeSource) {
        let former = present.withLock { present in
            defer { present = transport }
            return present
        }
        // Unstructured, because the reload does not wait for requests in flight.
        Task {
            try? await time.sleep(for: .seconds(Limits.webhookTimeoutSeconds * 2))
            await former.close()
        }
    }

    func send(_ request: WebhookRequest, to target: WebhookRules.Target, attempt: Int) async -> WebhookAnswer {
        await transport.send(request, to: target, attempt: attempt)
    }

    func tidy() async { await transport.tidy() }

    func close() async { await transport.close() }
}
