internal import CMalloc
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import PealAPI
internal import PealConsole
package import PealCore
internal import PealDelivery
internal import PealExperiments
internal import PealLearning
internal import PealNetwork
internal import PealPostgres
internal import PealProviders
internal import PealReports
internal import PealStore
internal import ServiceLifecycle
internal import UnixSignals

/// The composition root: the only part that imports all others and connects them.
struct Server {
    let configuration: ServerConfiguration
    let networks: [ServerNetwork]
    /// Whether messages are accepted but not sent.
    let isPaused: Bool
    /// Reads the configuration again, for SIGHUP.
    let reload: @Sendable () async throws -> ServerConfiguration
    let log: ServerLog
    let logger: Logger
    let time: any TimeSource = SystemTime()
    let randomness: any Randomness = SystemRandomness()
    /// For the HTTP server and webhooks.
    let eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    /// Threads that check credentials; they live as long as the process.
    private static let examiners: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 2)
        pool.start()
        return pool
    }()

    init(
        _ configuration: ServerConfiguration, networks: [ServerNetwork], isPaused: Bool,
        reload: @escaping @Sendable () async throws -> ServerConfiguration
    ) {
        self.configuration = configuration
        self.networks = networks
        self.isPaused = isPaused
        self.reload = reload
        log = ServerLog(configuration)
        logger = log.logger
    }

    /// Opens the store, serves until a signal or a failure, and closes the store.
    func run() async throws {
        logger.notice("the server is starting", metadata: ["version": "\(PealVersion.current)"])
        // Before the caller prints why the start failed.
        defer { LogOutput.standardError.flush() }
        Self.limitArenas()
        PrivateFiles.fromNowOn()
        // The signal must not end the process before the reload service handles it.
        signal(SIGHUP, SIG_IGN)
        _ = ProcessFigures.startedAt
        let descriptors = DescriptorLimit.raise()
        if let warning = DescriptorLimit.warning(descriptors) { logger.warning("\(warning)") }
        // Before the store, which a failed start must not create.
        try configuration.checkFiles()
        for warning in configuration.certificateWarnings(at: time.now) { logger.warning("\(warning)") }
        let storage = try Storage.open(configuration) { [logger] in logger.warning("\($0)") }
        let result = await Result { try await serve(storage, descriptors: descriptors) }
        try storage.close()
        try result.get()
    }

    /// Limits glibc to one memory arena for each processor, instead of eight. Threads of one arena cannot use what
    /// those of another have freed: with 16 arenas, fuzzing needed almost twice as much memory.
    private static func limitArenas() { peal_malloc_limit_arenas(Int32(clamping: max(2, System.coreCount))) }

    private func serve(_ storage: Storage, descriptors: Int) async throws {
        // Sending has its own event loops, so that no request and no webhook delays a push network's socket.
        let senders = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let result = await Result { try await serve(storage, senders, descriptors) }
        try await senders.shutdownGracefully()
        try result.get()
    }

    private func serve(_ storage: Storage, _ senders: any EventLoopGroup, _ descriptors: Int) async throws {
        let firstAdmin = try await prepare(storage)
        let databaseTime = storage.shared.map { shared in
            DatabaseTime(logger: logger) { try await shared.engine.serverTime() }
        }
        await databaseTime?.measure()
        let clock: any TimeSource = databaseTime ?? time
        let providers = try makeProviders(storage, senders)
        let traces = makeTraces()
        let delivery = makeDelivery(storage, providers, clock, traces, senders)
        let shared = storage.shared.map { SharedDelivery(delivery, $0.signals) }
        let transport = ReloadableTransport(try makeTransport(configuration))
        let courier = makeCourier(storage, clock, transport)
        let connections = makeConnections(descriptors)
        let verbs = makeVerbs(storage, providers, engine: shared ?? delivery, firstAdmin, clock)
        var services = makeServices(verbs, storage, delivery, courier, connections)
        services.traces = traces
        let console = Console(
            ConsoleServices(
                services, configuration,
                ServerConsoleOperations(api: services, configuration: configuration)))
        let listeners = try HTTPListeners(
            configuration, services: services, console: console, connections: connections, group: eventLoopGroup,
            logger: logger)
        let background = isPaused ? [] : backgroundServices(services, storage, clock)
        let reloading = reloadService(storage, services, providers, courier, transport, listeners)
        // Stopped in reverse order: first no new requests, then pages in flight settle, then webhooks are sent.
        let running: [(any Service)?] = [
            NamedService("clocks", ClockWatch(logger: logger)),
            traces.map { NamedService("traces", $0) },
            isPaused ? nil : NamedService("webhooks", courier),
            NamedService("delivery", delivery),
            databaseTime.map { NamedService("database time", $0) },
            shared.map { NamedService("signals", $0) },
            NamedService("access", BackgroundService(functions: [AccessRecorder(services).run])),
            NamedService("reload", reloading),
        ]
        // Streams stop first, because an open stream keeps its request from ending.
        let closing = StreamClosing(services: services, logger: logger)
        let later = listeners.services + background + [NamedService("streams", closing)]
        let result = await Result { try await run(running.compactMap(\.self) + later) }
        for provider in providers.all.values { await provider.close() }
        try result.get()
    }

    /// Brings the schema and the audit chain up to date.
    private func prepare(_ storage: Storage) async throws -> FirstAdmin {
        try await storage.migrate(configuration)
        try await storage.store.chainAudit()
        return try await AdminToken.admin(configuration, storage: storage, randomness: randomness, time: time)
    }

    private func makeProviders(_ storage: Storage, _ senders: any EventLoopGroup) throws -> ProviderSet {
        try ProviderSet(
            networks, configuration,
            // The dates in tokens for push networks are from this machine's clock.
            .init(
                group: senders, time: time, randomness: randomness, logger: logger,
                store: storage.shared == nil ? nil : storage.store))
    }

    private func makeTraces() -> TraceExporter? {
        configuration.tracing.map { tracing in
            TraceExporter(
                .init(
                    url: tracing.url, percent: tracing.percent, version: PealVersion.current,
                    caFile: configuration.caFile),
                group: eventLoopGroup, time: time, logger: logger)
        }
    }

    private func makeConnections(_ descriptors: Int) -> Connections {
        Connections(
            .init(
                total: configuration.http.connectionsMax, perAddress: configuration.http.connectionsPerAddressMax,
                descriptors: descriptors),
            proxies: configuration.http.trustedProxies, time: time, logger: logger)
    }

    private func makeVerbs(
        _ storage: Storage, _ providers: ProviderSet, engine: any DeliveryEngine, _ firstAdmin: FirstAdmin,
        _ clock: any TimeSource
    ) -> Verbs {
        Verbs(
            store: storage.store, engine: engine, providers: providers.all, channels: providers.channels,
            time: clock, randomness: randomness, hasher: storage.store.hasher, firstAdmin: firstAdmin,
            hosts: HostRules(configuration.addressRules, configuration.webhookRules), dialects: .served,
            deviceQuota: DeviceQuota(APIOptions(configuration), time: clock),
            examinations: CredentialExaminations { work in Self.examiners.submit { _ in work() } },
            isPaused: isPaused)
    }

    private func makeServices(
        _ verbs: Verbs, _ storage: Storage, _ delivery: DeliveryService, _ courier: WebhookCourier,
        _ connections: Connections
    ) -> APIServices {
        let failures = AuthenticationFailures(
            perMinute: configuration.checked.integer(.authenticationFailures), time: time, logger: logger)
        let http = HTTPMetrics()
        return APIServices(
            verbs, options: APIOptions(configuration),
            operations: ServerOperations(
                store: storage.store, delivery: delivery, courier: courier, connections: connections,
                failures: failures, http: http, isPaused: isPaused, time: time),
            failures: failures, http: http, logger: logger)
    }

    /// The background services of a server that sends.
    private func backgroundServices(
        _ services: APIServices, _ storage: Storage, _ clock: any TimeSource
    ) -> [any Service] {
        let learning = LearningService(store: storage.store, time: clock, logger: logger)
        let decider = ExperimentDecider(
            store: storage.store, reports: services.experiments, time: clock, logger: logger)
        return [
            NamedService(
                "background", BackgroundService(functions: dialectBackground(services) + [learning.run, decider.run]))
        ]
    }

    private func makeDelivery(
        _ storage: Storage, _ providers: ProviderSet, _ clock: any TimeSource, _ traces: (any TraceSink)?,
        _ senders: any EventLoopGroup
    ) -> DeliveryService {
        var options = DeliveryOptions()
        options.pagesInFlightMax = configuration.pagesInFlightMax
        options.isOnlyProcess = storage.shared == nil
        options.isPaused = isPaused
        options.traces = traces
        options.directExecutor = EventLoopExecutor(senders.next())
        return DeliveryService(
            store: storage.store, providers: providers.all, time: clock, randomness: randomness, logger: logger,
            options: options)
    }

    /// Runs until a signal or a failure.
    private func run(_ services: [any Service]) async throws {
        var group = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(Limits.drainSeconds + 10)
        try await ServiceGroup(configuration: group).run()
    }

    private func makeCourier(
        _ storage: Storage, _ clock: any TimeSource, _ transport: any WebhookTransport
    ) -> WebhookCourier {
        WebhookCourier(
            store: storage.store, transport: transport, composers: reportComposers,
            rules: configuration.webhookRules, time: clock, randomness: randomness, logger: logger)
    }

    private func makeTransport(_ configuration: ServerConfiguration) throws -> CheckedTransport {
        do {
            return try CheckedTransport(
                caFile: configuration.caFile, group: eventLoopGroup, time: time,
                resolver: SystemResolver(threadCount: Limits.webhookResolutionsMax))
        } catch {
            throw ConfigurationFailure(.caFile, "\(configuration.caFile ?? "") cannot be used: \(error)")
        }
    }

    /// The parts that SIGHUP changes.
    private func reloadService(
        _ storage: Storage, _ services: APIServices, _ providers: ProviderSet, _ courier: WebhookCourier,
        _ transport: ReloadableTransport, _ listeners: HTTPListeners
    ) -> ReloadService {
        ReloadService(
            started: configuration, load: reload,
            parts: [
                ("log level", { [log] in log.level = Logger.Level(rawValue: $0.log.level) ?? .info }),
                (
                    "certificates",
                    { [time, logger] configuration in
                        try listeners.reloadCertificates(configuration)
                        for warning in configuration.certificateWarnings(at: time.now) { logger.warning("\(warning)") }
                    }
                ),
                (
                    "allowed hosts",
                    { configuration in
                        services.hosts.set(configuration.addressRules, configuration.webhookRules)
                        courier.setRules(configuration.webhookRules)
                    }
                ),
                ("push networks", { [time] in try providers.reload($0, time: time) }),
                ("webhooks", { [self] in transport.replace(by: try makeTransport($0), time: time) }),
                (
                    "admin token",
                    { [randomness] configuration in
                        let (hash, isConfigured) = try await AdminToken.hash(
                            configuration, storage: storage, randomness: randomness)
                        services.firstAdmin.set(hash, isConfigured: isConfigured)
                    }
                ),
            ], logger: logger)
    }
}

extension Result where Failure == any Error {
    /// Catches what `body` throws, so that the caller can clean up before rethrowing.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

/// Runs the server until SIGTERM or SIGINT.
/// - Parameters:
///   - isPaused: whether messages are accepted but not sent.
///   - networks: every network that the server sends to. Those that are not built in must be registered (`Networks`)
///     before the configuration is read.
///   - reload: reads the configuration again when SIGHUP arrives.
/// - Throws: `ConfigurationFailure` when it cannot start as configured; otherwise the error that ended it.
package func runServer(
    _ configuration: ServerConfiguration, networks: [ServerNetwork] = ServerNetwork.builtIn, isPaused: Bool = false,
    reload: (@Sendable () async throws -> ServerConfiguration)? = nil
) async throws {
    let reload = reload ?? { configuration }
    try await Server(configuration, networks: networks, isPaused: isPaused, reload: reload).run()
}

/// The hash of a row of the audit log, without its hash, after a row with the hash `previous`.
package func auditHash(after previous: String, _ row: JSON) -> String { AuditChain.hash(after: previous, row) }

/// The kinds of keys that the server can create, for help texts.
package let servedKeyKinds: [String] = keyKindNames

/// The kinds of webhooks that the server can send to, for help texts.
package let servedWebhookKinds: [String] = reportComposers.all.map(\.form.kind.rawValue)

/// Ends open streams as soon as the server stops.
private struct StreamClosing: Service {
    let services: APIServices
    let logger: Logger

    func run() async throws {
        let isSignalled = (try? await gracefulShutdown()) != nil
        if isSignalled { logger.notice("the server is stopping") }
        services.endStreams()
    }
}

/// Runs the dialects' background work until the server stops.
struct BackgroundService: Service {
    let functions: [@Sendable () async -> Void]

    func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for function in functions { group.addTask(operation: function) }
            }
        }
    }
}

extension APIOptions {
    fileprivate init(_ configuration: ServerConfiguration) {
        let checked = configuration.checked
        self.init()
        messageLifeSeconds = Int64(checked.integer(.messageLife))
        requestBodyBytesMax = checked.integer(.requestBodyBytes)
        jsonValuesMax = checked.integer(.jsonValues)
        requestsPerKeyPerSecond = checked.integer(.requestsPerKey)
        requestsPerAppPerSecond = checked.integer(.requestsPerApp)
        devicesPerAppMax = checked.integer(.devicesPerApp)
        topicsPerDeviceMax = checked.integer(.topicsPerDevice)
        contextPushHoldSeconds = Int64(checked.integer(.contextPushHold))
        contextPushWindowSecondsMax = Int64(checked.integer(.contextPushWindow)) * 3600
        pivotalImmediateSeconds = Int64(checked.integer(.pivotalImmediate))
        richieTopicsMax = checked.integer(.richieTopics)
        richieUsersMax = checked.integer(.richieUsers)
        servesMetrics = configuration.metricsPort == nil
        hasAdminListener = configuration.adminListener != nil
        trustedProxies = configuration.http.trustedProxies
        shownConfiguration = configuration.shown
        version = PealVersion.current
    }
}
