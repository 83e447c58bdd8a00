import NIOCore
import NIOHTTP1

/// One connection of the control interface (HTTP/1.1): collects a request, answers it, and stays open.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let routes: ControlRoutes
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLong = false

    init(routes: ControlRoutes) {
        self.routes = routes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLong = false
        case .body(let bytes):
            isTooLong = isTooLong || body.count + bytes.readableBytes > SimulatorLimits.controlBodyBytesMax
            if !isTooLong { body.append(contentsOf: bytes.readableBytesView) }
        case .end:
            answer(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is Farewell {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let head else { return }
        self.head = nil
        let response =
            isTooLong
            ? ControlResponse.failure(413, "body: more than \(SimulatorLimits.controlBodyBytesMax) bytes")
            : routes.answer(ControlRequest(method: head.method.rawValue, uri: head.uri, body: body))
        body = []
        let bytes = context.channel.allocator.buffer(string: response.json + "\n")
        var headers = HTTPHeaders([("content-type", "application/json")])
        headers.add(name: "content-length", value: String(bytes.readableBytes))
        if !head.isKeepAlive { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: response.status)
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !head.isKeepAlive { context.close(promise: nil) }
    }
}
