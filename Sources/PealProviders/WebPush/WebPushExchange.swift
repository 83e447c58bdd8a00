import NIOHTTP1
import PealCore

/// Builds the Web Push requests of one app, encrypted for each browser and signed for its push service, and judges the
/// replies.
struct WebPushExchange: RequestExchange {
    /// The hosts that may be sent to without checking their addresses.
    private let listed: AddressRules
    /// The listed hosts and, if the configuration allows it, any other host.
    private let rules: AddressRules
    private let keys: [String: Credential.VAPIDKey]
    private let newest: Credential.VAPIDKey?
    private let isPadded: Bool
    private let tokens: VAPIDTokens
    private let hosts: GuardedHosts
    private let time: any TimeSource
    private let randomness: any Randomness

    /// - Parameters:
    ///   - keys: the app's keys, the newest last.
    ///   - isPadded: whether payloads are padded.
    init(
        keys: [Credential.VAPIDKey], isPadded: Bool = true, rules: AddressRules, tokens: VAPIDTokens,
        hosts: GuardedHosts,
        time: any TimeSource, randomness: any Randomness
    ) {
        self.rules = rules
        self.isPadded = isPadded
        listed = rules.listedOnly
        self.keys = Dictionary(keys.map { ($0.publicKey, $0) }) { _, later in later }
        newest = keys.last
        self.tokens = tokens
        self.hosts = hosts
        self.time = time
        self.randomness = randomness
    }

    func origin(of address: ArraySlice<UInt8>) -> String {
        WebPushSubscription.endpoint(of: address).flatMap { EndpointURI($0)?.origin } ?? ""
    }

    func isUntrusted(_ origin: String) -> Bool { listed.refusal(ofURI: origin, on: .webPush) != nil }

    func request(for subject: RequestSubject) async throws(RequestRefusal) -> OutboundRequest {
        guard let subscription = WebPushSubscription(subject.address) else {
            throw RequestRefusal(
                ProviderAnswer(.verdict(.retireAddress(since: nil, isSuspicious: true)), reason: "BadSubscription"))
        }
        guard let key = key(of: subscription) else { throw .rejection("UnknownApplicationServerKey") }
        let (uri, isListed) = try destination(subscription.endpoint)
        let address = isListed ? nil : try await checkedAddress(uri.host, subject.order.slice.app)
        guard let authorization = tokens.authorization(for: key, at: uri.origin) else {
            throw RequestRefusal(ProviderAnswer(.verdict(.stopApp), reason: "BadKey"))
        }
        var headers = WebPushHeaders.fields(of: subject.notification, to: uri.host, now: time.now)
        headers.add(name: "Authorization", value: authorization)
        return OutboundRequest(
            url: uri.text, headers: headers, body: try body(subject.notification, for: subscription.receiver),
            lifeField: "TTL", address: address)
    }

    func judge(
        _ reply: OutboundReply, to request: OutboundRequest, for subject: RequestSubject
    ) async -> RequestJudgement {
        var reason = WebPushVerdicts.reason(in: reply.body)
        // A message counts each reason: an unlisted host must not make it grow with reasons of its own.
        if request.address != nil, !WebPushVerdicts.reasons.contains(reason) { reason = "" }
        let retryAfter = reply.retryAfter(now: time.now)
        var verdict = WebPushVerdicts.verdict(status: reply.status, reason: reason, retryAfter: retryAfter)
        if verdict == .accepted {
            if request.address == nil { accept(request, subject) }
            return RequestJudgement(.accepted)
        }
        // An unlisted host must not stop the app for all other devices, neither by a refusal of the credential nor by
        // many suspicious addresses.
        let blamesApp: [Verdict] = [.refreshCredential, .retireAddress(since: nil, isSuspicious: true)]
        if request.address != nil, blamesApp.contains(verdict) { verdict = .rejectMessage }
        if verdict == .refreshCredential { verdict = self.verdict(onRefusalOf: request, subject) }
        let answer = ProviderAnswer(
            .verdict(verdict), reason: reason.isEmpty ? "Status\(reply.status)" : reason, status: reply.status)
        if case .holdAddress(let after) = verdict, WebPushVerdicts.holdsOrigin(status: reply.status, reason: reason) {
            return RequestJudgement(answer, originHold: after)
        }
        return RequestJudgement(answer)
    }

    /// The key that the subscription was created with: push services accept no other (RFC 8292 §4.2).
    private func key(of subscription: WebPushSubscription) -> Credential.VAPIDKey? {
        subscription.serverKey.map { keys[$0] } ?? newest
    }

    private func accept(_ request: OutboundRequest, _ subject: RequestSubject) {
        guard let (value, key, origin) = signature(of: request, subject) else { return }
        tokens.accepted(value, of: key, at: origin)
    }

    private func verdict(onRefusalOf request: OutboundRequest, _ subject: RequestSubject) -> Verdict {
        guard let (value, key, origin) = signature(of: request, subject) else { return .stopApp }
        return tokens.refused(value, of: key, at: origin)
    }

    private func signature(
        of request: OutboundRequest, _ subject: RequestSubject
    ) -> (value: String, key: Credential.VAPIDKey, origin: String)? {
        guard let value = request.headers.first(name: "Authorization"), let uri = EndpointURI(request.url),
            let key = WebPushSubscription(subject.address).flatMap(key)
        else { return nil }
        return (value, key, uri.origin)
    }

    // Destination

    private func destination(_ endpoint: String) throws(RequestRefusal) -> (uri: EndpointURI, isListed: Bool) {
        let bytes = Array(endpoint.utf8)
        if case .allowed(let uri) = listed.check(uri: bytes, on: .webPush) { return (uri, true) }
        if case .allowed(let uri) = rules.check(uri: bytes, on: .webPush) { return (uri, false) }
        throw .rejection("HostNotAllowed")
    }

    private func checkedAddress(_ host: String, _ app: AppKey) async throws(RequestRefusal) -> IPAddress {
        switch await hosts.find(host, for: app) {
        case .address(let address): return address
        case .privateAddress: throw .rejection("PrivateAddress")
        // The policy decides how often to retry.
        case .noAddress: throw RequestRefusal(ProviderAnswer(.verdict(.holdAddress(after: .zero)), reason: "NoAddress"))
        }
    }

    // Body

    private func body(
        _ notification: Notification, for receiver: WebPushEncryption.Receiver
    ) throws(RequestRefusal) -> [UInt8] {
        let text = notification.body.prefix
        guard !text.isEmpty else { return [] }
        do {
            return try WebPushEncryption.body(
                text, for: receiver, sender: WebPushEncryption.senderKey(randomness),
                salt: randomness.bytes(WebPushEncryption.saltBytes), isPadded: isPadded)
        } catch {
            throw .rejection("EncryptionFailed")
        }
    }
}

/// Returns the headers of a Web Push request: the rendered ones with the remaining lifetime, in the forms that some
/// push services require.
enum WebPushHeaders {
    private static let names = [
        "ttl": "TTL", "urgency": "Urgency", "topic": "Topic", "content-encoding": "Content-Encoding",
        "content-type": "Content-Type",
    ]

    /// - Parameter host: the endpoint's host.
    static func fields(of notification: Notification, to host: String, now: Timestamp) -> HTTPHeaders {
        var headers = HTTPHeaders()
        let life = lifeSeconds(notification, host, now)
        for header in notification.headers {
            let value =
                switch header.name {
                case "ttl": String(life)
                case "topic": topic(header.value, host)
                default: header.value
                }
            headers.add(name: names[header.name] ?? header.name, value: value)
        }
        // Edge's push service is WNS, which answers 400 to a notification with lifetime 0 that should be cached.
        if life == 0, host.hasSuffix(".notify.windows.com") {
            headers.add(name: "X-WNS-Cache-Policy", value: "no-cache")
        }
        return headers
    }

    /// FCM refuses more than four weeks; other services shorten a longer lifetime.
    private static func lifeSeconds(_ notification: Notification, _ host: String, _ now: Timestamp) -> Int64 {
        let life = WebPushRendering.lifeSeconds(until: notification.expiresAt, now: now)
        return host == "fcm.googleapis.com" ? min(life, Limits.fcmTTLSecondsMax) : life
    }

    /// Apple decodes topics and answers 400 `BadWebPushTopic` if the length is impossible in base64.
    private static func topic(_ topic: String, _ host: String) -> String {
        host.hasSuffix(".push.apple.com") && topic.utf8.count % 4 == 1 ? WebPushRendering.digest(topic) : topic
    }
}
