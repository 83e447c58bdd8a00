import Logging
import NIOHTTP1
import PealCore

/// Builds the requests of one app for WNS, and judges the replies.
struct WNSExchange: RequestExchange {
    let rules: AddressRules
    let tokens: AccessTokens
    let time: any TimeSource
    let randomness: any Randomness
    let logger: Logger

    func origin(of address: ArraySlice<UInt8>) -> String { EndpointURI(address)?.origin ?? "" }

    func request(for subject: RequestSubject) async throws(RequestRefusal) -> OutboundRequest {
        let uri = try rules.endpoint(of: subject, on: .wns)
        let authorization: Authorization
        switch await tokens.ready() {
        case .ready(let granted): authorization = granted
        case .unavailable(let answer): throw RequestRefusal(answer)
        }
        var headers = Self.headers(subject.notification, now: time.now)
        headers.add(name: "authorization", value: String(decoding: authorization.value, as: UTF8.self))
        headers.add(name: "ms-cv", value: correlationVector())
        return OutboundRequest(
            url: uri.text, headers: headers, body: subject.notification.body.prefix,
            authorizationVersion: authorization.version, lifeField: "x-wns-ttl")
    }

    func judge(
        _ reply: OutboundReply, to request: OutboundRequest, for subject: RequestSubject
    ) async -> RequestJudgement {
        logger.debug("WNS answered", metadata: Self.trace(reply))
        var answer = WNSVerdicts.answer(status: reply.status, Self.state(reply, now: time.now))
        if (200...299).contains(reply.status) { tokens.accepted(version: request.authorizationVersion) }
        if answer.result == .verdict(.refreshCredential) {
            answer = answer.with(tokens.refused(version: request.authorizationVersion))
        }
        return RequestJudgement(answer)
    }

    func close() { tokens.close() }

    /// `MethodNotAllowed`, which no content causes.
    func needsAlert(_ answer: ProviderAnswer) -> Bool { answer.status == 405 }

    /// The rendered headers with the remaining lifetime.
    static func headers(_ notification: Notification, now: Timestamp) -> HTTPHeaders {
        let life = WNSRendering.lifeSeconds(until: notification.expiresAt, now: now)
        var headers = HTTPHeaders()
        for header in notification.headers { headers.add(name: header.name, value: header.value) }
        headers.replaceOrAdd(name: "x-wns-ttl", value: String(life))
        // WNS answers 400 to a notification without remaining lifetime that should be cached.
        if life == 0 { headers.replaceOrAdd(name: "x-wns-cache-policy", value: "no-cache") }
        return headers
    }

    /// A correlation vector of version 1 (github.com/microsoft/CorrelationVector): 16 base64 characters, new for each
    /// request, and the position in its tree.
    private func correlationVector() -> String {
        let base = Base64URL.encode(randomness.bytes(12)).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(base) + ".0"
    }

    private static func state(_ reply: OutboundReply, now: Timestamp) -> WindowsState {
        func header(_ name: String) -> String { reply.headers.first(name: name) ?? "" }
        let status = header("x-wns-status")
        return WindowsState(
            // Some services still send the older name.
            notification: (status.isEmpty ? header("x-wns-notificationstatus") : status).lowercased(),
            device: header("x-wns-deviceconnectionstatus").lowercased(),
            description: header("x-wns-error-description"), retryAfter: reply.retryAfter(now: now))
    }

    /// The headers that Microsoft asks for in problem reports.
    private static func trace(_ reply: OutboundReply) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["status": .stringConvertible(reply.status)]
        for name in [
            "x-wns-status", "x-wns-notificationstatus", "x-wns-deviceconnectionstatus", "x-wns-error-description",
            "x-wns-msg-id", "x-wns-debug-trace", "ms-cv",
        ] {
            if let value = reply.headers.first(name: name) { metadata[name] = "\(value.prefix(200))" }
        }
        return metadata
    }
}

/// Requests an app's access tokens from Microsoft: from login.live.com for Store apps, from the app's Microsoft Entra
/// tenant for apps of the Windows App SDK (OAuth 2.0 client credentials, RFC 6749 §4.4).
struct WNSTokenSource: AccessTokenSource {
    let credential: Credential.WNSClient
    let configuration: WNSConfiguration
    let client: OutboundClient
    let time: any TimeSource

    func fetch() async -> AccessTokenReply { await AccessTokenReply(to: request, over: client, time) }

    var request: OutboundRequest {
        let url: String
        let fields: [(String, String)]
        switch credential {
        case .storeApp(let packageSID, let clientSecret):
            url = configuration.tokenURL
            fields = [("client_id", packageSID), ("client_secret", clientSecret), ("scope", "notify.windows.com")]
        case .tenant(let tenantID, let clientID, let clientSecret):
            url = configuration.tenantTokenURL.replacing("{tenant_id}", with: tenantID)
            fields = [
                ("client_id", clientID), ("client_secret", clientSecret),
                ("scope", "https://wns.windows.com/.default"),
            ]
        }
        let form = ([("grant_type", "client_credentials")] + fields)
            .map { "\($0)=\(PercentCoding.encode($1))" }.joined(separator: "&")
        return OutboundRequest(
            url: url, headers: ["content-type": "application/x-www-form-urlencoded"], body: Array(form.utf8))
    }
}
