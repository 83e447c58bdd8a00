import NIOCore
import NIOHTTP1
import PealCore

/// A handler in an HTTP/1.1 connection that fails requests whose deadline has passed before they are written. A request
/// waits for TCP and TLS, and a push service would deliver it although its message has expired.
final class DeadlineGuard: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The deadline passed before anything of the request was written.
    struct Passed: Error {}

    /// Carries the deadline from the sender to this handler, because the client has no other way to pass it. Removed
    /// before the request is written.
    private static let field = "x-peal-deadline"

    private let time: any TimeSource
    private var isLate = false

    private init(time: any TimeSource) { self.time = time }

    /// Adds a guard to a new connection of the client. Runs on the connection's event loop.
    static func add(to channel: any Channel, time: any TimeSource) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            try pipeline.addHandler(DeadlineGuard(time: time), position: .after(encoder))
        }
    }

    /// Adds the deadline, by `TimeSource.uptime`, to the headers of a request.
    static func set(_ deadline: Duration, in headers: inout HTTPHeaders) {
        headers.replaceOrAdd(name: field, value: "\(TimeAmount(deadline).nanoseconds)")
    }

    private static func takeDeadline(from headers: inout HTTPHeaders) -> Duration? {
        guard let value = headers.first(name: field) else { return nil }
        headers.remove(name: field)
        return Int64(value).map { .nanoseconds($0) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .head(var head) = part {
            let deadline = Self.takeDeadline(from: &head.headers)
            isLate = deadline.map { time.uptime > $0 } ?? false
            part = .head(head)
            // The client fails the request and closes the connection.
            if isLate { context.fireErrorCaught(Passed()) }
        }
        guard !isLate else {
            promise?.fail(Passed())
            return
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}
