internal import NIOCore
internal import NIOTLS
internal import PealCore

/// How long a client may take for each step.
struct HTTPDeadlines: Sendable, Hashable {
    var handshakeSeconds = Limits.httpHandshakeSeconds
    /// From the first byte of a request, or from the start of the connection, to the end of the request's head.
    var headSeconds = Limits.httpHeadSeconds
    var idleSeconds = Limits.httpIdleSeconds
    /// For HTTP/2, whose requests share a connection.
    var ageSeconds = Limits.httpAgeSeconds
    /// The slowest rate at which a body may arrive or an answer may be read, after `graceSeconds`.
    var bytesPerSecondMin = Limits.httpBytesPerSecondMin
    var graceSeconds = Limits.httpGraceSeconds

    static let surplusSeconds = Int64(Limits.httpSurplusSeconds)

    /// How long `bytes` may take.
    func allowance(_ bytes: Int) -> TimeAmount { .seconds(Int64(graceSeconds)) + duration(of: bytes) }

    /// How long `bytes` take at the slowest allowed rate.
    func duration(of bytes: Int) -> TimeAmount {
        .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(max(1, bytesPerSecondMin)))
    }
}

/// How far the client that sends a body is behind the slowest allowed rate. It is never ahead: bytes that arrived early
/// do not pay for a later stall.
struct BodyPace {
    private var behind = TimeAmount.zero

    /// The server waited for the client.
    mutating func wait(_ duration: TimeAmount) { behind = behind + duration }

    mutating func receive(_ bytes: Int, _ deadlines: HTTPDeadlines) {
        behind = max(.zero, behind - deadlines.duration(of: bytes))
    }

    /// - Parameter waiting: how long the server has been waiting since the last bytes.
    func isTooSlow(waiting: TimeAmount, _ deadlines: HTTPDeadlines) -> Bool {
        behind + waiting > deadlines.allowance(0)
    }
}

/// Closes a connection whose client is silent for too long: in the TLS handshake, before or within the head of a
/// request, and on HTTP/2 without an open request. Hummingbird closes idle HTTP/1.1 connections, and asks HTTP/2
/// clients to disconnect; this handler closes the connections of those that do not.
///
/// It sees bytes: after TLS, before HTTP. `RequestDeadlines` tells it when requests begin and end.
final class ConnectionDeadlines: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase: Equatable {
        case handshake
        /// Before the end of a head. `isBegun`: whether a part of it has arrived.
        case head(isBegun: Bool)
        /// HTTP/1.1 between requests.
        case idle
        case requests(Int)
        case http2(streams: Int)
    }

    let deadlines: HTTPDeadlines
    private var phase: Phase
    private var alarm: Scheduled<Void>?
    private var age: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(_ deadlines: HTTPDeadlines, usesTLS: Bool) {
        self.deadlines = deadlines
        phase = usesTLS ? .handshake : .head(isBegun: false)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        schedule(phase == .handshake ? deadlines.handshakeSeconds : deadlines.headSeconds)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        alarm?.cancel()
        age?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        age?.cancel()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name) = event as? TLSUserEvent {
            phase = name == "h2" ? .http2(streams: 0) : .head(isBegun: false)
            if name == "h2" {
                schedule(deadlines.idleSeconds + Limits.httpCloseSeconds)
                age = after(deadlines.ageSeconds + Limits.httpCloseSeconds)
            } else {
                schedule(deadlines.headSeconds)
            }
        } else if event is ChannelShouldQuiesceEvent {
            switch phase {
            case .handshake, .head: return context.close(promise: nil)
            // The delivery stops after the listeners, and needs the rest of the time that a stop may take.
            case .idle, .requests, .http2:
                age?.cancel()
                age = after(Limits.httpStopSeconds)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch phase {
        case .idle:
            // Most heads arrive complete: only the others get a deadline.
            phase = .head(isBegun: true)
            context.fireChannelRead(data)
            if phase == .head(isBegun: true) { schedule(deadlines.headSeconds) }
        case .head:
            phase = .head(isBegun: true)
            context.fireChannelRead(data)
        case .handshake, .requests, .http2: context.fireChannelRead(data)
        }
    }

    /// The head of a request is complete.
    func requestBegan() {
        switch phase {
        case .handshake, .head, .idle:
            phase = .requests(1)
            cancel()
        case .requests(let count): phase = .requests(count + 1)
        case .http2(let streams):
            if streams == 0 { cancel() }
            phase = .http2(streams: streams + 1)
        }
    }

    /// The answer to a request is written, or its HTTP/2 stream closed.
    func requestEnded() {
        switch phase {
        case .handshake, .head, .idle: break
        case .requests(let count): phase = count > 1 ? .requests(count - 1) : .idle
        case .http2(let streams):
            phase = .http2(streams: max(0, streams - 1))
            if streams <= 1 { schedule(deadlines.idleSeconds + Limits.httpCloseSeconds) }
        }
    }

    private func expire() {
        guard let context else { return }
        if case .head(isBegun: true) = phase {
            let text = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }
        context.close(promise: nil)
    }

    private func schedule(_ seconds: Int) {
        cancel()
        alarm = after(seconds)
    }

    private func after(_ seconds: Int) -> Scheduled<Void>? {
        context?.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) { self.expire() }
    }

    private func cancel() {
        alarm?.cancel()
        alarm = nil
    }
}
