internal import HTTPTypes
package import Logging
package import PealCore
package import PealExperiments

/// The dependencies of the API, which the server creates once.
package struct APIServices: Sendable {
    package let verbs: Verbs
    package let options: APIOptions
    package let operations: any Operations
    package let logger: Logger
    /// Shared by all routes, so that a key that is revoked through one of them is not accepted by another.
    let keyRing: KeyRing
    /// The apps for which messages were sent, or devices registered, recently.
    let recentApps: RecentReads<AppReference, RecentApp>
    let failures: AuthenticationFailures
    let quotas: RequestQuotas
    let refusals: Refusals
    let usage: KeyUsage
    package let http: HTTPMetrics
    package let experiments: ExperimentReports
    private let messageIDs: MessageIDs
    let bodies = BodyBudget()
    let parsing = ParsingTurns()
    let progressStreams = ProgressStreams()
    /// Where the spans of messages go; nil without tracing.
    package var traces: (any TraceSink)?

    /// - Parameter failures: also read by the server's metrics; without it, guessing is not limited.
    package init(
        _ verbs: Verbs, options: APIOptions, operations: any Operations, failures: AuthenticationFailures? = nil,
        http: HTTPMetrics = HTTPMetrics(), logger: Logger
    ) {
        let (store, time) = (verbs.store, verbs.time)
        self.verbs = verbs
        self.options = options
        self.operations = operations
        self.logger = logger
        self.http = http
        self.failures = failures ?? AuthenticationFailures(perMinute: Int(Int32.max), time: time, logger: logger)
        refusals = Refusals(time: time)
        usage = KeyUsage(time: time)
        quotas = RequestQuotas(
            perKey: options.requestsPerKeyPerSecond, perApp: options.requestsPerAppPerSecond, time: time)
        keyRing = KeyRing(store: store, hasher: verbs.hasher, time: time)
        recentApps = RecentReads(store: store, time: time)
        experiments = ExperimentReports(store: store, time: time)
        messageIDs = MessageIDs()
    }

    package var store: any Store { verbs.store }
    package var engine: any DeliveryEngine { verbs.engine }
    package var providers: [ProviderName: any Provider] { verbs.providers }
    package var time: any TimeSource { verbs.time }
    package var randomness: any Randomness { verbs.randomness }
    package var hasher: any KeyHasher { verbs.hasher }
    package var firstAdmin: FirstAdmin { verbs.firstAdmin }
    package var hosts: HostRules { verbs.hosts }
    package var addressRules: AddressRules { hosts.addresses }

    /// An app's credentials without their secrets.
    func credentialRecords(_ app: App) async throws -> [CredentialRecord] {
        try await store.read { try $0.credentialRecords(app: app.key) }
    }

    /// What sending for an app needs: from the caller if it was admitted for sending.
    func sendingFacts(_ app: App, for caller: Caller) async throws -> SendingFacts {
        if let facts = caller.sendingFacts, caller.app?.key == app.key { return facts }
        return try await store.read { try SendingFacts(app, $0) }
    }

    /// The answer to a POST that changes nothing, stored if the request has an idempotency key.
    func answer(_ report: JSON, keptFor call: Call) async throws -> Answer {
        guard call.idempotent != nil else { return Answer(.ok, report) }
        let kept = try await store.commit(
            .rest, call.verb, reply: { Reply(status: 200, report) }, change: { _ in })
        return Answer(kept.reply)
    }

    /// Ends the progress streams; otherwise a stopping server would wait for their requests.
    package func endStreams() { progressStreams.close() }

    /// Ids sort by time, so that new devices are adjacent in the index of ids too.
    func newDeviceID(at now: Timestamp) -> DeviceID { randomness.timeOrderedIdentifier(at: now) }
    func newMessageID(at now: Timestamp) -> MessageID { messageIDs.next(at: now, randomness) }
}

extension VerbDialects {
    /// The dialects that the API serves.
    package static let served = VerbDialects(
        loneSecrets: Dialects.loneSecrets, namingPlatforms: Set(Dialects.all.filter(\.authorsNamePlatforms).map(\.name))
    )
}

extension DeviceQuota {
    package convenience init(_ options: APIOptions, time: any TimeSource) {
        self.init(
            devicesPerApp: options.devicesPerAppMax, topicsPerDevice: options.topicsPerDeviceMax,
            topicChangesPerBatch: options.topicChangesPerBatchMax, time: time)
    }
}

/// The configuration of the API.
package struct APIOptions: Sendable {
    /// The lifetime of a message without an expiry, and the longest for which a platform's own expiry is honoured.
    package var messageLifeSeconds: Int64 = Limits.messageLifeSecondsDefault
    package var requestBodyBytesMax = Limits.requestBodyBytesMax
    /// Whether the API's port serves `/metrics`; false if it has a separate port.
    package var servesMetrics = true
    /// Whether everything that only admins may do is on a separate listener.
    package var hasAdminListener = false
    package var devicesPerAppMax = Limits.devicesPerAppMax
    package var topicsPerDeviceMax = Limits.topicsPerDeviceMax
    package var topicChangesPerBatchMax = Limits.topicChangesPerBatchMax
    /// How long a traditional ContextPush message can still be cancelled.
    package var contextPushHoldSeconds: Int64 = Limits.contextPushHoldSeconds
    /// The longest delivery window that ContextPush accepts.
    package var contextPushWindowSecondsMax: Int64 = Limits.windowSecondsMax
    /// Pivotal pushes that are due sooner are sent immediately.
    package var pivotalImmediateSeconds: Int64 = Limits.pivotalImmediateSeconds
    /// How many topics and users one Richie task may name.
    package var richieTopicsMax = Limits.richieTopicsMax
    package var richieUsersMax = Limits.richieUsersMax
    /// The server's version, for the OpenAPI document.
    package var version = "0"
    /// How many JSON values a body may hold.
    package var jsonValuesMax = Limits.jsonValuesMax
    /// Reverse proxies, whose `X-Forwarded-For` names the client.
    package var trustedProxies: [IPAddress] = []
    package var requestsPerKeyPerSecond = Limits.requestsPerKeyPerSecond
    package var requestsPerAppPerSecond = Limits.requestsPerAppPerSecond
    /// The configuration that differs from the defaults, by variable name and without secrets. Only admins see it.
    package var shownConfiguration: [String: String] = [:]

    /// - Parameter change: sets what differs from the defaults.
    package init(_ change: (inout APIOptions) -> Void = { _ in }) { change(&self) }
}

/// The state of the server, for its operators.
package protocol Operations: Sendable {
    /// Every subsystem, with the reason if it does not work.
    func readiness() async -> [(subsystem: String, failure: String?)]
    /// How many apps are stopped because a push network refuses everything from them.
    func stoppedApps() async -> Int
    /// The stopped credentials with their reasons; at most `Limits.credentialsListedMax`.
    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)]
    /// The text exposition of Prometheus.
    func metrics() async -> String
    /// Version, sizes, and pending work, for admins.
    func details() async -> JSON.Members
}

extension Operations {
    package func details() async -> JSON.Members { .init() }
}

/// How a request names its app.
enum AppReference: Hashable {
    /// The app of the caller's key.
    case key(AppKey)
    case id(AppID)

    func app(_ store: any StoreReading) throws -> App? {
        switch self {
        case .key(let key): try store.app(key: key)
        case .id(let id): try store.app(id)
        }
    }
}

/// What a request that sends or registers a device reads of its app.
struct RecentApp {
    let app: App
    let facts: SendingFacts

    init?(_ name: AppReference, _ store: any StoreReading) throws {
        guard let app = try name.app(store) else { return nil }
        self.app = app
        facts = try SendingFacts(app, store)
    }
}

/// What the store knows about an app that decides how its messages are checked and rendered.
struct SendingFacts: Sendable {
    /// The app's credentials without their secrets.
    let credentials: [CredentialRecord]
    /// Whether payloads name their message for Peal's SDK: true if the app has a key for it.
    let namesMessages: Bool

    init(_ app: App, _ store: any StoreReading) throws {
        credentials = try store.credentialRecords(app: app.key)
        namesMessages = try store.hasKey(app: app.key, dialect: .device)
    }
}
