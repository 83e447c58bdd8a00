import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PealCore

/// Sends single requests over kept connections and returns their replies. Trusts the system's roots and the configured
/// ones, follows no redirects, and reads replies up to a limit.
package final class OutboundClient: OutboundSender {
    /// How a client connects.
    struct Options: Sendable {
        /// PEM file with trust roots in addition to the system's; nil for none.
        var caFile: String?
        /// Client certificate, presented if the peer requests one.
        var identity: Credential.TLSIdentity?
        /// Checked addresses by host: connections to a listed host use its address only.
        var addresses: [String: String] = [:]
        /// Off by default, because WNS and MPNS accept HTTP/1.1 only.
        var allowsHTTP2 = false
        /// Maximum number of connections to one host.
        var connectionsPerHostMax = Limits.outboundConnectionsPerHostMax
        var connectTimeout = Duration.seconds(Limits.connectTimeoutSeconds)
    }

    private let client: HTTPClient
    private let group: any EventLoopGroup
    private let time: any TimeSource

    /// - Parameter time: measures how long this process could not run, which does not count towards timeouts.
    /// - Throws: if the CA file or the identity cannot be read.
    init(_ options: Options, group: any EventLoopGroup, time: any TimeSource) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let caFile = options.caFile { tls.additionalTrustRoots = [.file(caFile)] }
        if let identity = options.identity { try tls.show(identity) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            // Requests and bodies have their own timeouts.
            timeout: .init(connect: TimeAmount(options.connectTimeout), read: nil))
        configuration.httpVersion = options.allowsHTTP2 ? .automatic : .http1Only
        configuration.dnsOverride = options.addresses
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.connectionsPerHostMax
        // The delivery engine decides when to retry.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Close idle connections before the peer does: a request on a connection that is being closed counts as lost.
        configuration.connectionPool.idleTimeout = .seconds(Limits.outboundIdleSeconds)
        self.group = group
        self.time = time
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    /// - Throws: `OutboundFailure` if there was no reply.
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = request.method
        outgoing.headers = request.headers
        if !request.body.isEmpty || request.method == .POST { outgoing.body = .bytes(request.body) }
        do {
            let response = try await answer(to: outgoing, within: request.timeout)
            let isEmpty = response.headers.first(name: "content-length") == "0"
            let body = isEmpty ? [] : await body(of: response, bytesMax: request.replyBytesMax, within: request.timeout)
            return OutboundReply(status: Int(response.status.code), headers: response.headers, body: body)
        } catch {
            throw Self.failure(error)
        }
    }

    /// The head of the answer.
    /// - Throws: `HTTPClientError.deadlineExceeded` when it did not come in time.
    private func answer(
        to request: HTTPClientRequest, within timeout: Duration
    ) async throws -> HTTPClientResponse {
        try await withThrowingTaskGroup(of: HTTPClientResponse?.self) { tasks in
            tasks.addTask { [client] in try await client.execute(request, deadline: .distantFuture) }
            tasks.addTask {
                await self.alarm(after: timeout)
                // The alarm also ends on cancellation, which is no timeout.
                try Task.checkCancellation()
                return nil
            }
            defer { tasks.cancelAll() }
            guard let response = try await tasks.next() ?? nil else { throw HTTPClientError.deadlineExceeded }
            return response
        }
    }

    /// Returns after `timeout` and as much longer as this process could not run meanwhile, or when it is cancelled.
    private func alarm(after timeout: Duration) async {
        var (rest, counted) = (timeout, time.lag)
        while rest > .zero {
            let timer = group.next().scheduleTask(in: TimeAmount(rest)) {}
            let hasRung = await withTaskCancellationHandler {
                (try? await timer.futureResult.get()) != nil
            } onCancel: {
                timer.cancel()
            }
            guard hasRung else { return }
            let lag = time.lag
            (rest, counted) = (lag - counted, lag)
        }
    }

    /// The part of a body that arrives in time. The status is already known, so an incomplete body is not an error.
    private func body(
        of response: HTTPClientResponse, bytesMax: Int, within timeout: Duration
    ) async -> [UInt8] {
        await withTaskGroup(of: [UInt8].self) { tasks in
            tasks.addTask { await Self.read(response.body, bytesMax: bytesMax) }
            tasks.addTask {
                await self.alarm(after: timeout)
                return []
            }
            let body = await tasks.next() ?? []
            tasks.cancelAll()
            return body
        }
    }

    private static func read(_ parts: HTTPClientResponse.Body, bytesMax: Int) async -> [UInt8] {
        var body: [UInt8] = []
        do {
            for try await part in parts {
                body += part.readableBytesView.prefix(bytesMax - body.count)
                if body.count >= bytesMax { break }
            }
        } catch {
            // The connection broke in mid-body: return what arrived before.
        }
        return body
    }

    /// The library requires every client to be shut down, including one that was not closed.
    deinit { client.shutdown { _ in } }

    /// Closes every connection.
    func close() async { try? await client.shutdown() }

    /// Separates requests that provably never left from those that may have arrived.
    private static func failure(_ error: any Error) -> OutboundFailure {
        switch error {
        case let error as HTTPClientError: failure(error)
        // Only a failed handshake: after a later TLS error, such as a close without an alert, the request may have been
        // written.
        case NIOSSLError.handshakeFailed: .unsent("NoTLS")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .unsent("NoTLS")
        case is NIOConnectionError, is SocketAddressError, ChannelError.connectTimeout: .unsent("NoConnection")
        case let error as IOError where refusals.contains(error.errnoCode): .unsent("NoConnection")
        default: .lost("ConnectionLost")
        }
    }

    /// Errors that only a connecting socket meets.
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
