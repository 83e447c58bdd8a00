import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PealCore
import PealNetwork
import Synchronization

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

    /// A client of the library. It is shut down once it is no longer used, as the library requires.
    private final class Generation: Sendable {
        let client: HTTPClient

        init(_ configuration: HTTPClient.Configuration, group: any EventLoopGroup) {
            client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }

        deinit { client.shutdown { _ in } }
    }

    private struct State {
        var generation: Generation
        /// The hosts for which the current generation was used.
        var origins: Set<String> = []
        var isClosed = false
    }

    private let configuration: HTTPClient.Configuration
    private let originsMax: Int
    private let state: Mutex<State>
    private let group: any EventLoopGroup
    private let time: any TimeSource
    private let waiting: WaitingRequests

    /// - Parameters:
    ///   - time: measures how long this process could not run; that time counts towards no timeout.
    ///   - originsMax: how many hosts are remembered.
    /// - Throws: if the CA file or the identity cannot be read.
    init(
        _ options: Options, group: any EventLoopGroup, time: any TimeSource,
        originsMax: Int = Limits.outboundOriginsMax
    ) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let caFile = options.caFile { tls.additionalTrustRoots = [.file(caFile)] }
        if let identity = options.identity { try tls.show(identity) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            // Each request has its own timeout.
            timeout: .init(connect: TimeAmount(options.connectTimeout), read: nil))
        configuration.httpVersion = options.allowsHTTP2 ? .automatic : .http1Only
        configuration.dnsOverride = options.addresses
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.connectionsPerHostMax
        // The delivery engine decides when to retry.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Close idle connections before the peer does: a request that is written while the peer closes counts as lost.
        configuration.connectionPool.idleTimeout = .seconds(Limits.outboundIdleSeconds)
        let waiting = WaitingRequests(time: time)
        configuration.http1_1ConnectionDebugInitializer = { channel in
            WriteGuard.add(to: channel, for: waiting).flatMap { AnswerGuard.add(to: channel) }
        }
        configuration.http2StreamChannelDebugInitializer = { channel in
            waiting.noteUnnumbered()
            return AnswerGuard.add(toStream: channel)
        }
        self.waiting = waiting
        self.group = group
        self.time = time
        self.configuration = configuration
        self.originsMax = originsMax
        state = Mutex(State(generation: Generation(configuration, group: group)))
    }

    /// How many hosts the library remembers now, for tests.
    var originCount: Int { state.withLock(\.origins.count) }

    /// The library keeps a pool for every host that it was ever used for, and addresses of devices name hosts. After
    /// `originsMax` of them a new client takes over; requests in flight end on the earlier one.
    private func generation(for url: String) -> Generation {
        let origin = Self.origin(of: url)
        return state.withLock { state in
            if state.origins.contains(origin) { return state.generation }
            if state.origins.count >= originsMax, !state.isClosed {
                state.generation = Generation(configuration, group: group)
                state.origins = []
            }
            state.origins.insert(origin)
            return state.generation
        }
    }

    /// The part of a URL before its path.
    private static func origin(of url: String) -> String {
        guard let start = url.range(of: "://")?.upperBound else { return url }
        return String(url[..<(url[start...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
    }

    /// Sends again at once, on another connection, what the peer's close kept from being written. A request that was
    /// written is not repeated here, because it may have arrived (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
    /// - Throws: `OutboundFailure` if there was no reply.
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply {
        let (begunAt, lag) = (time.uptime, time.lag)
        var resends = 0
        while true {
            var outgoing = Self.outgoing(request)
            let number = isGuarded ? waiting.begin(request, madeAt: begunAt, &outgoing.headers) : nil
            do {
                let reply = try await reply(to: outgoing, request) {
                    request.timeout - (self.time.uptime - begunAt - (self.time.lag - lag))
                }
                if let number { _ = waiting.end(number) }
                return reply
            } catch {
                let isWritten = number.map { waiting.end($0) } ?? waiting.hasUnnumbered
                guard Self.isClosed(error), !isWritten, resends < Limits.resendsMax else {
                    throw Self.failure(error, isWritten)
                }
                resends += 1
            }
        }
    }

    /// Whether the request met a closed connection. The library learns of the close some time after the channel, whose
    /// own error it passes on until then.
    private static func isClosed(_ error: any Error) -> Bool {
        (error as? HTTPClientError) == .remoteConnectionClosed || (error as? ChannelError) == .ioOnClosedChannel
    }

    /// Whether `WriteGuard` sees which requests are written. Over HTTP/2 it is only known whether any was.
    private var isGuarded: Bool { configuration.httpVersion == .http1Only }

    private static func outgoing(_ request: OutboundRequest) -> HTTPClientRequest {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = request.method
        outgoing.headers = request.headers
        if !request.body.isEmpty || request.method == .POST { outgoing.body = .bytes(request.body) }
        return outgoing
    }

    /// - Parameter left: the rest of the request's timeout.
    private func reply(
        to outgoing: HTTPClientRequest, _ request: OutboundRequest, left: () -> Duration
    ) async throws -> OutboundReply {
        let generation = generation(for: request.url)
        defer { withExtendedLifetime(generation) {} }
        let response = try await answer(to: outgoing, from: generation.client, within: left())
        let isEmpty = response.headers.first(name: "content-length") == "0"
        let body =
            isEmpty
            ? []
            : await body(of: response, bytesMax: request.replyBytesMax, within: max(left(), Self.bodyTimeMin))
        return OutboundReply(status: Int(response.status.code), headers: response.headers, body: body)
    }

    /// How long a body is awaited after a late head. The caller gives up a request soon after its timeout, and would
    /// then resend what the head has already answered.
    private static let bodyTimeMin = Duration.milliseconds(500)

    /// The head of the answer.
    /// - Throws: `HTTPClientError.deadlineExceeded` when it did not come in time.
    private func answer(
        to request: HTTPClientRequest, from client: HTTPClient, within timeout: Duration
    ) async throws -> HTTPClientResponse {
        try await withThrowingTaskGroup(of: HTTPClientResponse?.self) { tasks in
            tasks.addTask { try await client.execute(request, deadline: .distantFuture) }
            tasks.addTask {
                await self.alarm(after: timeout)
                // The alarm also ends on cancellation, which is not a timeout.
                try Task.checkCancellation()
                return nil
            }
            defer { tasks.cancelAll() }
            guard let response = try await tasks.next() ?? nil else { throw HTTPClientError.deadlineExceeded }
            return response
        }
    }

    /// Returns after `timeout`, extended by the time in which this process could not run, or when it is cancelled.
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
            // The first to end cancels the other: after the alarm, reading ends with what has arrived.
            var body = await tasks.next() ?? []
            tasks.cancelAll()
            for await part in tasks { body += part }
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

    /// Closes every connection.
    func close() async {
        let generation = state.withLock { state in
            state.isClosed = true
            return state.generation
        }
        try? await generation.client.shutdown()
    }

    /// Separates requests that provably never left from those that may have arrived.
    private static func failure(_ error: any Error, _ isWritten: Bool) -> OutboundFailure {
        switch error {
        case let error as HTTPClientError: failure(error, isWritten)
        case is WriteGuard.Passed: .late
        // Only a failed handshake or a refused certificate: after a later TLS error, such as a close without an alert,
        // the request may have been written.
        case NIOSSLError.handshakeFailed: .unsent("NoTLS")
        case let error as BoringSSLError where error.refusesCertificate: .unsent("NoTLS")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: .unsent("NoTLS")
        case is NIOConnectionError, is SocketAddressError, ChannelError.connectTimeout: .unsent("NoConnection")
        case let error as IOError where refusals.contains(error.errnoCode): .unsent("NoConnection")
        default: isWritten ? .lost("ConnectionLost") : .unsent("NoConnection")
        }
    }

    /// Errors that only connecting can cause.
    private static let refusals = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL]

    private static func failure(_ error: HTTPClientError, _ isWritten: Bool) -> OutboundFailure {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout: .unsent("NoConnection")
        case .alreadyShutdown: .unsent("Draining")
        case .invalidURL, .emptyHost, .emptyScheme: .unusable("UnusableURI")
        case _ where !isWritten: .unsent("NoConnection")
        case .deadlineExceeded, .readTimeout, .writeTimeout: .lost("Timeout")
        default: .lost("ConnectionLost")
        }
    }
}

extension BoringSSLError {
    /// Whether the peer refuses the client's certificate or the lack of one. In TLS 1.3 its alert arrives after the
    /// client's part of the handshake, so a request may have been written, but the peer has not read it (RFC 8446 §2).
    var refusesCertificate: Bool {
        guard case .sslError(let stack) = self else { return false }
        let refusals = ["CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "HANDSHAKE_FAILURE", "DECRYPT_ERROR"]
        return stack.contains { error in
            let text = "\(error)"
            return text.contains("_ALERT_") && refusals.contains { text.contains($0) }
        }
    }
}
