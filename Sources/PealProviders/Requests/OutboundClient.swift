import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PealCore

/// Sends single requests over connections that are kept: https with the system's roots and those of the configuration,
/// no redirects, answers read up to a limit.
package final class OutboundClient: Sendable {
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
        if let identity = options.identity { try tls.show(identity) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(
                connect: .seconds(Limits.connectTimeoutSeconds), read: .seconds(Limits.requestTimeoutSeconds)))
        configuration.httpVersion = options.allowsHTTP2 ? .automatic : .http1Only
        configuration.dnsOverride = options.addresses
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.connectionsPerHostMax
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
                body += part.readableBytesView.prefix(request.replyBytesMax - body.count)
                if body.count >= request.replyBytesMax { break }
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
        if let error = error as? HTTPClientError {
            let unsent: [HTTPClientError] = [
                .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .invalidURL, .emptyHost,
                .alreadyShutdown,
            ]
            if unsent.contains(error) { return .unsent("NoConnection") }
            return .lost([.deadlineExceeded, .readTimeout].contains(error) ? "Timeout" : "ConnectionLost")
        }
        switch error {
        case is NIOConnectionError, is NIOSSLError, is BoringSSLError, is SocketAddressError:
            return .unsent("NoConnection")
        case ChannelError.connectTimeout: return .unsent("NoConnection")
        default: return .lost("ConnectionLost")
        }
    }
}
