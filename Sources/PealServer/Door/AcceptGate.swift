internal import NIOCore
internal import PealCore

/// Stops accepting while as many connections are open as may be served, refused and closed at once. The system keeps
/// further ones waiting. Without it, a flood would use up the descriptors, which the store and the push networks need
/// too, and swift-nio would not accept anything for a second each time.
final class AcceptGate: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = any Channel
    typealias OutboundOut = any Channel

    /// Connections that are being closed, besides those that `Connections` counts.
    private static let closingMax = 16

    private let openMax: Int
    private var open = 0
    /// Whether a read waits until a connection closes.
    private var isHeld = false

    init(_ capacity: Connections.Capacity) {
        openMax = capacity.total + Limits.httpSurplusMax + Self.closingMax
    }

    /// Puts a gate before everything else on the channel of a listener.
    static func install(on listener: any Channel, _ capacity: Connections.Capacity) async throws {
        try await listener.eventLoop.submit {
            try listener.pipeline.syncOperations.addHandler(AcceptGate(capacity), position: .first)
        }.get()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        open += 1
        let own = NIOLoopBound((gate: self, context: context), eventLoop: context.eventLoop)
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            own.value.gate.closed(own.value.context)
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        guard open < openMax else {
            isHeld = true
            return
        }
        context.read()
    }

    private func closed(_ context: ChannelHandlerContext) {
        open -= 1
        guard isHeld, open < openMax else { return }
        isHeld = false
        context.read()
    }
}
