internal import AsyncHTTPClient
internal import FoundationEssentials
package import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
package import PealCore
package import PealNetwork

/// Carries requests to receivers. The courier's only way out; tests put their own in its place.
package protocol WebhookTransport: Sendable {
    /// Sends once. Ends within `Limits.webhookTimeoutSeconds` and the time to find the host.
    /// - Parameters:
    ///   - target: where the request's URL leads, checked.
    ///   - attempt: counted from 0; the next one may try another address of the host.
    func send(_ request: WebhookRequest, to target: WebhookRules.Target, attempt: Int) async -> WebhookAnswer
    /// Lets go of connections that nobody used for a while.
    func tidy() async
    /// Ends every connection. No request may follow.
    func close() async
}

/// What came of one attempt at a delivery.
package enum WebhookAnswer: Sendable, Hashable {
    /// - Parameter retryAfter: what the receiver asks for (RFC 9110 §10.2.3), where it asks in seconds.
    case answered(status: Int, retryAfter: Duration?)
    case failed(WebhookFailure)

    /// 410 (RFC 9110 §15.5.11): nobody is there any more, nor will be.
    var isGone: Bool { if case .answered(410, _) = self { true } else { false } }
}

/// Why there was no answer. The raw value is `last_error` in the API.
package enum WebhookFailure: String, Sendable, CaseIterable {
    case unknownHost = "UnknownHost"
    /// The host resolves to an address that may not be reached.
    case privateAddress = "PrivateAddress"
    /// The configuration does not allow the URL any more.
    case urlNotAllowed = "URLNotAllowed"
    case noConnection = "NoConnection"
    case tlsFailed = "TLSFailed"
    case connectionLost = "ConnectionLost"
    case timeout = "Timeout"
}

/// Sends over HTTP to checked addresses only: the host is resolved once for each request, every address is judged, and
/// the connection goes to one of those. Redirects are not followed: they would lead where nobody checked.
package final class CheckedTransport: WebhookTransport {
    /// How long an answer's body is read, so that its connection can be used again.
    private static let readingTime: Duration = .seconds(2)

    private let resolver: any HostResolver
    private let time: any TimeSource
    private let clients: ClientCache<HTTPClient>

    /// - Parameters:
    ///   - caFile: PEM file with trust roots besides the system's; nil = none.
    ///   - group: Runs the connections.
    /// - Throws: when the file holds no certificates.
    package init(
        caFile: String?, group: any EventLoopGroup, time: any TimeSource, resolver: any HostResolver
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
                connect: .seconds(Limits.connectTimeoutSeconds), read: .seconds(Limits.webhookTimeoutSeconds)))
        configuration.httpVersion = .http1Only
        // The courier tries again by itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Limits.webhookRequestsInFlightMax
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
        // Readers of URLs may disagree about a host. A client that reads another one would resolve it by itself.
        guard URL(string: request.url)?.host == target.host else { return .failed(.urlNotAllowed) }
        let begun = time.uptime
        let addresses = await resolver.addresses(of: target.host)
        guard !addresses.isEmpty else { return .failed(.unknownHost) }
        guard addresses.allSatisfy({ target.allows($0.bytes) }) else { return .failed(.privateAddress) }
        // The lease lasts for the request; who waited too long for the resolver must not begin it any more.
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
        outgoing.body = .bytes(request.body)
        do {
            let response = try await client.execute(outgoing, timeout: .seconds(Limits.webhookTimeoutSeconds))
            await readAway(response)
            let seconds = response.headers.first(name: "retry-after").flatMap { Int64($0) }
            return .answered(
                status: Int(response.status.code),
                retryAfter: seconds.map { .seconds(min(max(0, $0), Limits.webhookRetrySecondsMax)) })
        } catch {
            return .failed(Self.failure(error))
        }
    }

    /// A body that is too long or too slow costs its connection.
    private func readAway(_ response: HTTPClientResponse) async {
        await time.race(atMost: Self.readingTime) {
            do {
                var byteCount = 0
                for try await part in response.body {
                    byteCount += part.readableBytes
                    guard byteCount <= Limits.webhookReplyBytesMax else { return }
                }
            } catch {
                // The status is known, and nobody reads the rest.
            }
        }
    }

    private static func failure(_ error: any Error) -> WebhookFailure {
        switch error {
        case let error as HTTPClientError:
            let late: [HTTPClientError] = [
                .deadlineExceeded, .readTimeout, .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout,
            ]
            return late.contains(error) ? .timeout : .connectionLost
        case ChannelError.connectTimeout: return .timeout
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: return .tlsFailed
        case is NIOConnectionError, is IOError: return .noConnection
        default: return .connectionLost
        }
    }
}
