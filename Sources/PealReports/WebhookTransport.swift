internal import AsyncHTTPClient
internal import FoundationEssentials
package import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
package import PealCore
package import PealNetwork
internal import Synchronization

/// Sends requests to receivers. Tests replace it.
package protocol WebhookTransport: Sendable {
    /// Sends a request once. Takes at most `Limits.webhookTimeoutSeconds` and the time to resolve the host.
    /// - Parameters:
    ///   - target: the request's URL, checked.
    ///   - attempt: counted from 0. Another attempt may use another address of the host.
    func send(_ request: WebhookRequest, to target: WebhookRules.Target, attempt: Int) async -> WebhookAnswer
    /// Closes connections that were idle for a while.
    func tidy() async
    /// Closes every connection. No request may follow.
    func close() async
}

/// The result of one delivery attempt.
package enum WebhookAnswer: Sendable, Hashable {
    /// - Parameter retryAfter: `Retry-After` (RFC 9110 §10.2.3), if given in seconds.
    case answered(status: Int, retryAfter: Duration?)
    case failed(WebhookFailure)

    /// 410 (RFC 9110 §15.5.11): the receiver is gone permanently.
    var isGone: Bool { if case .answered(410, _) = self { true } else { false } }
}

/// Why there was no answer. The raw value is `last_error` in the API.
package enum WebhookFailure: String, Sendable, CaseIterable {
    case unknownHost = "UnknownHost"
    /// The host resolves to an address that is not allowed.
    case privateAddress = "PrivateAddress"
    /// The configuration no longer allows the URL.
    case urlNotAllowed = "URLNotAllowed"
    case noConnection = "NoConnection"
    case tlsFailed = "TLSFailed"
    case connectionLost = "ConnectionLost"
    case timeout = "Timeout"
}

/// Sends over HTTP to checked addresses only. It resolves the host once for each request, checks every address and
/// connects to one of them. It does not follow redirects, because their targets are not checked.
package final class CheckedTransport: WebhookTransport {
    /// How long an answer's body is read, so that its connection can be used again.
    private static let readingTime: Duration = .seconds(2)

    private let resolver: any HostResolver
    private let time: any TimeSource
    private let clients: ClientCache<HTTPClient>

    /// - Parameters:
    ///   - caFile: PEM file with trust roots besides the system's; nil for none.
    ///   - group: runs the connections.
    ///   - connectTimeout: for the connection and its TLS handshake together.
    /// - Throws: when the file contains no certificates.
    package init(
        caFile: String?, group: any EventLoopGroup, time: any TimeSource, resolver: any HostResolver,
        connectTimeout: Duration = .seconds(Limits.connectTimeoutSeconds)
    ) throws {
        self.resolver = resolver
        self.time = time
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let caFile {
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(caFile))]
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(
                connect: TimeAmount(connectTimeout), read: .seconds(Limits.webhookTimeoutSeconds)))
        configuration.httpVersion = .http1Only
        configuration.http1_1ConnectionDebugInitializer = { AnswerGuard.add(to: $0) }
        // The courier retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        // All requests that webhooks may have in flight: further ones would wait for those of other webhooks.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            Limits.webhooksServedMax * Limits.webhookRequestsInFlightMax
        let basis = configuration
        clients = ClientCache(time: time) { pin in
            var configuration = basis
            configuration.dnsOverride = pin.override
            return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
    }

    package func send(
        _ request: WebhookRequest, to target: WebhookRules.Target, attempt: Int
    ) async -> WebhookAnswer {
        // URL parsers may disagree about the host. A client that sees another host would resolve that one, unchecked.
        guard URL(string: request.url)?.host == target.host else { return .failed(.urlNotAllowed) }
        let begun = time.uptime
        let addresses = await resolver.addresses(of: target.host, for: request.app)
        guard !addresses.isEmpty else { return .failed(.unknownHost) }
        guard addresses.allSatisfy({ target.allows($0.bytes) }) else { return .failed(.privateAddress) }
        // The lease lasts for the request only: after a long wait for the resolver, the request must not start.
        guard time.uptime - begun < .seconds(Limits.webhookTimeoutSeconds) else { return .failed(.timeout) }
        let pin = ClientCache<HTTPClient>.Pin(host: target.host, address: addresses[attempt % addresses.count])
        return await clients.withClient(pin) { await exchange(request, $0) } ?? .failed(.noConnection)
    }

    package func tidy() async { await end(clients.takeIdle(for: .seconds(Limits.webhookIdleConnectionSeconds))) }

    package func close() async { await end(clients.takeAll()) }

    private func end(_ clients: [HTTPClient]) async {
        for client in clients { try? await client.shutdown() }
    }

    private func exchange(_ request: WebhookRequest, _ client: HTTPClient) async -> WebhookAnswer {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = .POST
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        let body = WatchedBody(ByteBuffer(bytes: request.body))
        outgoing.body = .stream(body, length: .known(Int64(request.body.count)))
        do {
            let response = try await client.execute(outgoing, timeout: .seconds(Limits.webhookTimeoutSeconds))
            await discardBody(response)
            let seconds = response.headers.first(name: "retry-after").flatMap { Int64($0) }
            return .answered(
                status: Int(response.status.code),
                retryAfter: seconds.map { .seconds(min(max(0, $0), Limits.webhookRetrySecondsMax)) })
        } catch {
            return .failed(Self.failure(error, wasConnected: body.isWanted))
        }
    }

    /// Reads the body so that the connection can be used again. A body that is too long or too slow closes it.
    private func discardBody(_ response: HTTPClientResponse) async {
        await time.race(atMost: Self.readingTime) {
            do {
                var byteCount = 0
                for try await part in response.body {
                    byteCount += part.readableBytes
                    guard byteCount <= Limits.webhookReplyBytesMax else { return }
                }
            } catch {
                // The status is known; the body does not matter.
            }
        }
    }

    /// A closed port must look like an open one that is silent, closes, or speaks something else. Only a peer that
    /// proved to be an HTTPS server gets another reason.
    private static func failure(_ error: any Error, wasConnected: Bool) -> WebhookFailure {
        if isUntrusted(error) { return .tlsFailed }
        guard wasConnected else { return .noConnection }
        guard let error = error as? HTTPClientError else { return .connectionLost }
        return [.deadlineExceeded, .readTimeout].contains(error) ? .timeout : .connectionLost
    }

    /// Whether the peer showed a certificate that is not trusted or has another name.
    private static func isUntrusted(_ error: any Error) -> Bool {
        if let error = error as? NIOSSLExtraError { return error == .failedToValidateHostname }
        // BoringSSL's errors have no public code.
        return "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
    }
}

/// The body of a request. It is read when a connection is ready to send it.
private struct WatchedBody: AsyncSequence, Sendable {
    fileprivate final class Flag: Sendable { let isSet = Atomic(false) }

    private let bytes: ByteBuffer
    private let flag = Flag()

    init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// Whether a connection wanted it.
    var isWanted: Bool { flag.isSet.load(ordering: .acquiring) }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let flag: Flag
        fileprivate var rest: ByteBuffer?

        mutating func next() async -> ByteBuffer? {
            flag.isSet.store(true, ordering: .releasing)
            return rest.take()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(flag: flag, rest: bytes) }
}
