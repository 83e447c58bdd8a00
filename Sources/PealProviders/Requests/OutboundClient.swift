import AsyncHTTPClient
import Foundation
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
        /// PEM file with trust roots in addition to the system's; nil = none.
        var caFile: String?
        /// Shown where the peer asks for a client certificate.
        var identity: Credential.TLSIdentity?
        /// Addresses that were checked, by host: connections go there and nowhere else.
        var addresses: [String: String] = [:]
        /// WNS and MPNS take HTTP/1.1 alone.
        var allowsHTTP2 = false
        /// Connections to one host.
        var connectionsPerHostMax = Limits.outboundConnectionsPerHostMax
        var connectTimeout = Duration.seconds(Limits.connectTimeoutSeconds)
    }

    private let client: HTTPClient
    private let group: any EventLoopGroup

    /// - Throws: when the CA file or the identity cannot be read.
    init(_ options: Options, group: any EventLoopGroup) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let caFile = options.caFile { tls.additionalTrustRoots = [.file(caFile)] }
        if let identity = options.identity { try tls.show(identity) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            // Requests and bodies have times of their own.
            timeout: .init(connect: TimeAmount(options.connectTimeout), read: nil))
        configuration.httpVersion = options.allowsHTTP2 ? .automatic : .http1Only
        configuration.dnsOverride = options.addresses
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.connectionsPerHostMax
        // The delivery engine knows when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Before the peer thinks of it: a request on a connection that is just being closed counts as lost.
        configuration.connectionPool.idleTimeout = .seconds(Limits.outboundIdleSeconds)
        self.group = group
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
            let isEmpty = response.headers.first(name: "content-length") == "0"
            let body = isEmpty ? [] : await body(of: response, within: request.timeout)
            return OutboundReply(status: Int(response.status.code), headers: response.headers, body: body)
        } catch {
            throw Self.failure(error)
        }
    }

    /// What comes of a body in that time: the status was said already, whatever becomes of the rest.
    private func body(of response: HTTPClientResponse, within timeout: Duration) async -> [UInt8] {
        await withTaskGroup(of: [UInt8].self) { tasks in
            tasks.addTask { await Self.read(response.body) }
            let alarm = group.next().scheduleTask(in: TimeAmount(timeout)) {}
            tasks.addTask {
                try? await alarm.futureResult.get()
                return []
            }
            let body = await tasks.next() ?? []
            alarm.cancel()
            tasks.cancelAll()
            return body
        }
    }

    private static func read(_ parts: HTTPClientResponse.Body) async -> [UInt8] {
        var body: [UInt8] = []
        do {
            for try await part in parts {
                body += part.readableBytesView.prefix(Limits.outboundReplyBytesMax - body.count)
                if body.count >= Limits.outboundReplyBytesMax { break }
            }
        } catch {
            // A connection that broke in the middle: what came before is what there is.
        }
        return body
    }

    /// A client that was not closed shuts itself down, as the library requires.
    deinit { client.shutdown { _ in } }

    /// Ends every connection.
    func close() async { try? await client.shutdown() }

    /// Separates what provably never left from what may have arrived.
    private static func failure(_ error: any Error) -> OutboundFailure {
        switch error {
        case let error as HTTPClientError: failure(error)
        // Of TLS only a handshake that failed: later (a peer that closes without an alert), the request was written.
        case NIOSSLError.handshakeFailed: .unsent("NoTLS")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .unsent("NoTLS")
        case is NIOConnectionError, is SocketAddressError, ChannelError.connectTimeout: .unsent("NoConnection")
        case let error as IOError where refusals.contains(error.errnoCode): .unsent("NoConnection")
        default: .lost("ConnectionLost")
        }
    }

    /// What only a socket that is connecting meets.
    private static let refusals = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL]

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
