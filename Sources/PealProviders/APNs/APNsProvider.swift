package import PealCore

/// Apple's push network: renders messages for it and sends pages of them over connections kept per environment and
/// credential.
package final class APNsProvider: Provider {
    /// The broadcast channels of apps.
    package let channels: any ChannelDirectory

    private let pools: APNsPools
    private let surroundings: ProviderSurroundings

    /// - Throws: `APNsConfigurationError` if a URL is unusable; another error if the CA file is.
    package init(_ configuration: APNsConfiguration, _ surroundings: ProviderSurroundings) throws {
        let production = try configuration.endpoints(.production)
        let sandbox = try configuration.endpoints(.sandbox)
        pools = try APNsPools(
            APNsPools.Settings(
                production: production, sandbox: sandbox, caFile: configuration.caFile,
                pool: .init(connectionsMax: max(1, configuration.connectionsPerPoolMax)),
                surroundings: surroundings))
        channels = try APNsChannels(
            production: production.management, sandbox: sandbox.management, caFile: configuration.caFile,
            group: surroundings.group, tokens: pools.tokens, time: surroundings.time,
            randomness: surroundings.randomness)
        self.surroundings = surroundings
    }

    package var reasons: Set<String> { APNsVerdicts.reasons }
    package var channelDirectory: (any ChannelDirectory)? { channels }
    /// How many signing keys are held; a key is released with its last connection. For tests.
    var signingKeyCount: Int { pools.tokens.keyCount }

    /// Apple gives a malformed device token and one of the other environment the same answer.
    package func doubtsEnvironment(_ reason: String) -> Bool { reason == "BadDeviceToken" }

    package func render(_ order: RenderOrder) throws(ContentRefusal) -> Notification {
        try APNsRendering.notification(order)
    }

    package func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        try APNsCredential.examine(credential, now: now)
    }

    package func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        await APNsVerification(
            credential: credential, fingerprint: fingerprint, environment: environment, time: surroundings.time,
            randomness: surroundings.randomness, send: send
        ).run()
    }

    package func send(_ order: PageOrder) {
        guard order.hasEveryVariant else { return order.flight.answerRest(.unsent("NoVariant")) }
        let (route, credential) = (order.slice.route, order.credential)
        if let entry = pools.known(route, fingerprint: order.fingerprint) { return submit(order, entry) }
        guard case .certificate = credential.apns else {
            return submit(order, pools.entry(route, credential, fingerprint: order.fingerprint))
        }
        // Unstructured, because the caller may run on an event loop, and reading a certificate takes milliseconds.
        Task { submit(order, pools.entry(route, credential, fingerprint: order.fingerprint)) }
    }

    private func submit(_ order: PageOrder, _ entry: APNsPools.Entry?) {
        guard let entry else {
            return order.flight.answerRest(.unsent(pools.isClosed ? "Draining" : "NoCredential"))
        }
        if let answer = entry.refusal(of: order) { return order.flight.answerRest(answer) }
        entry.submit(order)
    }

    package func drain(fingerprint: String) { pools.drain(fingerprint: fingerprint) }

    /// APNs limits connections and devices, not all servers together.
    package func share(among servers: Int) {}

    package func close() async {
        await pools.close()
        await (channels as? APNsChannels)?.close()
    }
}

extension APNsPools.Entry {
    /// Peal's own reason for a push that the certificate does not allow.
    static let notInCertificate = "TopicNotInCertificate"

    /// Refuses here what the certificate does not allow: APNs would answer `TopicDisallowed`, which stops the whole app
    /// for one message's mistake. Checks only the first variant, because variants differ only in their texts.
    func refusal(of order: PageOrder) -> ProviderAnswer? {
        guard let certificateTopics, !order.slice.route.isBroadcast, let first = order.notifications.first else {
            return nil
        }
        func value(_ name: String) -> String? { first.headers.first { $0.name == name }?.value }
        let needsToken = value("apns-push-type").flatMap(APNsPushType.init(rawValue:))?.needsToken ?? false
        let isKnown = certificateTopics.isEmpty || value("apns-topic").map(certificateTopics.contains) ?? true
        guard needsToken || !isKnown else { return nil }
        return ProviderAnswer(.verdict(.rejectMessage), reason: Self.notInCertificate)
    }
}

/// Asks APNs whether it accepts a credential: sends a background push without content to a device token of zeros, which
/// no device has. It uses the normal send path, so that the same connection rules apply.
struct APNsVerification {
    let credential: Credential
    let fingerprint: String
    let environment: Environment
    let time: any TimeSource
    let randomness: any Randomness
    let send: (PageOrder) -> Void

    /// Maximum number of attempts while the answer only asks for another provider token or connection.
    private static let attemptsMax = 2

    func run() async -> CredentialVerification {
        guard let notification else {
            return CredentialVerification(
                .refused, reason: "BadCertificate", detail: "The certificate contains no topic.")
        }
        var answer = ProviderAnswer.unsent("NoAnswer")
        for _ in 0..<Self.attemptsMax {
            answer = await ask(notification)
            guard [.verdict(.refreshCredential), .verdict(.reconnect)].contains(answer.result) else { break }
        }
        return Self.meaning(answer)
    }

    private func ask(_ notification: Notification) async -> ProviderAnswer {
        var page = DevicePage(through: 1, isLast: true, readAt: time.now, capacity: 1)
        let address = [UInt8](repeating: 0, count: 32)
        address.withUnsafeBytes { page.append(key: 1, address: $0, revision: 0, locale: 0) }
        let message: MessageID = randomness.timeOrderedIdentifier(at: time.now)
        let order = PageOrder(
            slice: Slice.ID(app: 0, message: message, route: notification.route, rangeStart: 0, part: 0),
            credential: credential, fingerprint: fingerprint, page: page, notifications: [notification],
            variants: [0], lane: .direct, deadline: time.uptime + .seconds(Limits.connectTimeoutSeconds),
            control: SendControl())
        send(order)
        let flight = order.flight
        await time.race(atMost: .seconds(Limits.verificationSeconds)) { await flight.wait() }
        flight.answerRest(.lost("Timeout"))
        return flight.answers.exceptions[0] ?? .accepted
    }

    /// The plainest push that the credential may send; a certificate may be for VoIP only. nil if none of its topics is
    /// the app's.
    private var notification: Notification? {
        let bundleID = credential.providerAppID
        var types: [APNsPushType] = [.background]
        if case .certificate(let certificate)? = credential.apns,
            let topics = (try? LeafCertificate(certificate.identity.certificates))?.apnsTopics, !topics.isEmpty
        {
            types = [.background, .voip, .complication, .pushtotalk, .fileprovider]
                .filter { topics.contains(bundleID + $0.topicSuffix) }
        }
        guard let type = types.first else { return nil }
        return Notification(
            route: Route(.ios, environment), path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: [
                .init("apns-topic", bundleID + type.topicSuffix), .init("apns-push-type", type.rawValue),
                .init("apns-priority", type.priority(.normal)), .init("apns-expiration", "0"),
            ],
            body: .init(Array(#"{"aps":{"content-available":1}}"#.utf8)))
    }

    /// APNs checks the credential and the topic before the device token, so a verdict on the device token means that
    /// the credential was accepted.
    private static func meaning(_ answer: ProviderAnswer) -> CredentialVerification {
        func verification(_ result: CredentialVerification.Result, _ detail: String) -> CredentialVerification {
            CredentialVerification(result, status: answer.status, reason: answer.reason, detail: detail)
        }
        switch answer.result {
        case .verdict(.accepted), .verdict(.retireAddress), .verdict(.holdAddress):
            return verification(
                .accepted, "APNs accepted the credential and refused only the device token, which is a placeholder.")
        case .verdict(.stopApp), .verdict(.refreshCredential):
            return verification(.refused, "APNs refused the credential: \(answer.reason).")
        case .verdict(.rejectMessage) where answer.status == 403:
            return verification(.refused, "APNs refused the credential: \(answer.reason).")
        case .verdict(.rejectMessage), .verdict(.retry), .verdict(.holdApp), .verdict(.reconnect):
            return verification(.unreachable, "APNs did not judge the credential: \(answer.reason).")
        case .unsent where answer.reason == "NoTLS":
            return verification(
                .unreachable, "The TLS handshake with APNs failed: one side does not accept the other's certificate.")
        case .lost, .unsent, .held:
            return verification(.unreachable, "APNs did not answer: \(answer.reason).")
        }
    }
}

/// Where APNs is and how it is reached. Set by the administrator only: no request may choose any of it.
package struct APNsConfiguration: Sendable {
    /// The URLs of one environment, each `https://host[:port]`.
    package struct URLs: Sendable {
        /// Sends to devices.
        package var send: String
        /// Sends to broadcast channels; nil to use `send`.
        package var broadcast: String?
        /// Creates and deletes broadcast channels.
        package var management: String

        package init(send: String, broadcast: String? = nil, management: String) {
            self.send = send
            self.broadcast = broadcast
            self.management = management
        }
    }

    package var production: URLs
    package var sandbox: URLs
    /// PEM file with trust roots in addition to the system's; nil for none.
    package var caFile: String?
    /// Maximum number of connections per environment and credential.
    package var connectionsPerPoolMax: Int

    package init(
        production: URLs = .production, sandbox: URLs = .sandbox, caFile: String? = nil,
        connectionsPerPoolMax: Int = Limits.connectionsPerPoolMax
    ) {
        self.production = production
        self.sandbox = sandbox
        self.caFile = caFile
        self.connectionsPerPoolMax = connectionsPerPoolMax
    }
}

extension APNsConfiguration.URLs {
    /// Apple's hosts ("Sending notification requests to APNs", "Sending channel management requests to APNs").
    package static let production = Self(
        send: "https://api.push.apple.com", management: "https://api-manage-broadcast.push.apple.com:2196")
    package static let sandbox = Self(
        send: "https://api.sandbox.push.apple.com",
        management: "https://api-manage-broadcast.sandbox.push.apple.com:2195")
}

/// A URL in the configuration is unusable.
package struct APNsConfigurationError: Error, CustomStringConvertible {
    /// Which of an environment's URLs it concerns.
    package enum Purpose: String, Sendable {
        case send, broadcast, management
    }

    package let environment: Environment
    package let purpose: Purpose
    let url: String

    /// One line for the operator.
    package var description: String { "must be https://host[:port], not \"\(url)\"" }
}

extension APNsConfiguration {
    /// The endpoints of an environment.
    struct Endpoints: Sendable {
        let send: RemoteEndpoint
        let broadcast: RemoteEndpoint
        let management: RemoteEndpoint
    }

    /// - Throws: `APNsConfigurationError`, naming the URL.
    func endpoints(_ environment: Environment) throws(APNsConfigurationError) -> Endpoints {
        let urls = environment == .production ? production : sandbox
        func endpoint(_ url: String, _ purpose: APNsConfigurationError.Purpose) throws(APNsConfigurationError)
            -> RemoteEndpoint
        {
            guard let endpoint = RemoteEndpoint(url) else {
                throw APNsConfigurationError(environment: environment, purpose: purpose, url: url)
            }
            return endpoint
        }
        return Endpoints(
            send: try endpoint(urls.send, .send), broadcast: try endpoint(urls.broadcast ?? urls.send, .broadcast),
            management: try endpoint(urls.management, .management))
    }
}
