import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PealCore

/// Sends single requests over connections that are kept: https with the system's roots and those of the configuration,
/// no redirects, answers read up to a limit.
package final class OutboundClient: OutboundSender {
    /// What a client is made for.
    struct Options: Sendable {
        /// PEM file with trust roots besides the system's; nil = none.
        var caFile: String?
        /// Shown where the peer asks for a client certificate.
        var identity: Credential.TLSIdentity?
        /// Addresses that were checked, by host: connections go there and nowhere else.
        var addresses: [String: String] = [:]
        /// WNS and MPNS take HTTP/1.1 alone.
        var allowsHTTP2 = false
        /// Connections to one host.
        var connectionsPerHostMax = Limits.outboundConnectionsPerHostMax
    }

    private let client: HTTPClient

    /// - Throws: when the CA file or the identity cannot be read.
    init(_ options: Options, group: any EventLoopGroup) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let caFile = options.caFile { tls.additionalTrustRoots = [.file(caFile)] }
        if let identity = options.identity {
            tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8))
                .map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem))
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(
                connect: .seconds(Limits.connectTimeoutSeconds), read: .seconds(Limits.requestTimeoutSeconds)))
        configuration.httpVersion = options.allowsHTTP2 ? .automatic : .http1Only
        configuration.dnsOverride = options.addresses
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.connectionsPerHostMax
        // Before the peer thinks of it: a request on a connection that is just being closed counts as lost.
        configuration.connectionPool.idleTimeout = .seconds(Limits.outboundIdleSeconds)
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    /// - Throws: `OutboundFailure`: there was no answer.
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = request.method
        outgoing.headers = request.headers
        if !request.body.isEmpty || request.method == .POST { outgoing.body = .bytes(request.body) }
        do {
            let response = try await client.execute(outgoing, timeout: TimeAmount(request.timeout))
            var body: [UInt8] = []
            for try await part in response.body {
                body += part.readableBytesView.prefix(Limits.outboundReplyBytesMax - body.count)
                if body.count >= Limits.outboundReplyBytesMax { break }
            }
            return OutboundReply(status: Int(response.status.code), headers: response.headers, body: body)
        } catch {
            throw Self.failure(error)
        }
    }

    /// Ends every connection.
    func close() async { try? await client.shutdown() }

    /// Tells what provably never left from what may have arrived.
    private static func failure(_ error: any Error) -> OutboundFailure {
        switch error {
        case let error as HTTPClientError: failure(error)
        // Of TLS only a handshake that failed: later, as when a peer ends without a farewell, the request was written.
        case NIOSSLError.handshakeFailed: .unsent("NoTLS")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .unsent("NoTLS")
        case is NIOConnectionError, is SocketAddressError, ChannelError.connectTimeout: .unsent("NoConnection")
        default: .lost("ConnectionLost")
        }
    }

    private static func failure(_ error: HTTPClientError) -> OutboundFailure {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout: .unsent("NoConnection")
        case .alreadyShutdown: .unsent("Draining")
        case .deadlineExceeded, .readTimeout, .writeTimeout: .lost("Timeout")
        case .invalidURL, .emptyHost, .emptyScheme: .unusable("UnusableURI")
        default: .lost("ConnectionLost")
        }
    }
}
