internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import PealCore

/// A connection without TLS: Hummingbird's HTTP/1, with what it leaves out.
struct PlainChannel: ServerChildChannel {
    private let http1: HTTP1Channel

    init(responder: @escaping HTTPChannelHandler.Responder) {
        http1 = HTTP1Channel(
            responder: responder,
            configuration: .init(
                additionalChannelHandlers: [ContinueHandler()], idleTimeout: .seconds(Limits.httpIdleSeconds)))
    }

    func setup(
        channel: any Channel, logger: Logger
    ) -> EventLoopFuture<NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>> {
        http1.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(KeepAliveHandler(), position: .before(codec))
            return value
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await http1.handle(value: value, logger: logger)
    }
}
