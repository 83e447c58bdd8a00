import NIOCore
import NIOHTTP1
import NIOPosix
import PealCore
import PealNetwork
@testable import PealReports
import PealTesting
import Synchronization
import Testing

@Suite("Connections to webhooks")
struct CheckedTransportTests {
    private struct Resolver: HostResolver {
        let answers: [[UInt8]]
        let time: ManualTime
        /// How long an answer takes.
        let delay: Duration

        func addresses(of host: String, for app: AppKey) async -> [IPAddress] {
            time.advance(by: delay)
            return answers.compactMap(IPAddress.init(bytes:))
        }
    }

    private static let loopback: [UInt8] = [127, 0, 0, 1]

    private func send(
        _ url: String, allowed: [String] = [], resolved: [[UInt8]], attempt: Int = 0,
        after delay: Duration = .zero, connectTimeout: Duration = .seconds(Limits.connectTimeoutSeconds)
    ) async throws -> WebhookAnswer {
        let time = ManualTime()
        let transport = try CheckedTransport(
            caFile: nil, group: MultiThreadedEventLoopGroup.singleton, time: time,
            resolver: Resolver(answers: resolved, time: time, delay: delay), connectTimeout: connectTimeout)
        let answer = try await Self.send(url, over: transport, allowed: allowed, attempt: attempt)
        await transport.close()
        return answer
    }

    private static func send(
        _ url: String, over transport: CheckedTransport, allowed: [String], attempt: Int = 0
    ) async throws -> WebhookAnswer {
        let target = try WebhookRules(allowedHosts: allowed).target(url)
        let webhook = Webhook(
            key: 1, app: 1, name: "w", url: url, kind: "events", authentication: .bearer(accessToken: "a"),
            createdAt: .init(seconds: 0), changedAt: .init(seconds: 0))
        let delivery = WebhookDelivery(
            id: .init(high: 0, low: 1), webhook: webhook.reference, type: "t", itemCount: 1,
            createdAt: .init(seconds: 0))
        let request = WebhookRequest(
            delivery, body: Array("{}".utf8), to: target, of: webhook, .events, now: .init(seconds: 0))
        return await transport.send(request, to: target, attempt: attempt)
    }

    @Test(
        "a public name is refused if any of its addresses is private",
        arguments: [
            [[10, 0, 0, 1]], [[127, 0, 0, 1]], [[169, 254, 169, 254]], [[1, 1, 1, 1], [192, 168, 0, 1]],
            [[UInt8](repeating: 0, count: 15) + [1]],
        ] as [[[UInt8]]])
    func privateAddress(_ resolved: [[UInt8]]) async throws {
        #expect(try await send("https://example.com/", resolved: resolved) == .failed(.privateAddress))
    }

    @Test("a host without an address is unknown")
    func unknown() async throws {
        #expect(try await send("https://example.com/", resolved: []) == .failed(.unknownHost))
    }

    @Test("plain http is refused if any address is not loopback")
    func plain() async throws {
        let answer = try await send(
            "http://localhost/", allowed: ["localhost"], resolved: [Self.loopback, [1, 1, 1, 1]])
        #expect(answer == .failed(.privateAddress))
    }

    @Test("a port without a listener counts as no connection")
    func refused() async throws {
        let answer = try await send("http://localhost:1/", allowed: ["localhost"], resolved: [Self.loopback])
        #expect(answer == .failed(.noConnection))
    }

    /// What listens on a port that is no HTTPS server.
    enum Listener: CaseIterable { case silent, closing, banner, plainHTTP }

    @Test("over TLS, a port with something else looks like one without a listener", arguments: Listener.allCases)
    func indistinguishable(_ kind: Listener) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                switch kind {
                case .silent: return channel.eventLoop.makeSucceededVoidFuture()
                case .closing: return channel.close()
                case .banner: return channel.writeAndFlush(ByteBuffer(string: "SSH-2.0-OpenSSH_9.2\r\n"))
                case .plainHTTP:
                    return channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n"))
                        .flatMap { channel.close() }
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let answer = try await send(
            "https://localhost:\(port)/", allowed: ["localhost"], resolved: [Self.loopback],
            connectTimeout: .milliseconds(kind == .silent ? 300 : 10_000))
        #expect(answer == .failed(.noConnection))
        try await listener.close()
    }

    @Test("a connection goes to the address that was checked, with the name in its headers")
    func connected() async throws {
        let receiver = try await Receiver(status: .created)
        // No other resolver knows this name.
        let answer = try await send(
            "http://receiver.localhost:\(receiver.port)/a?b=c", allowed: [".localhost"],
            resolved: [[127, 0, 0, 1]])
        #expect(answer == .answered(status: 201, retryAfter: nil))
        let head = try #require(receiver.heads.first)
        #expect(head.method == .POST)
        #expect(head.uri == "/a?b=c")
        #expect(head.headers["host"] == ["receiver.localhost:\(receiver.port)"])
        #expect(head.headers["authorization"] == ["Bearer a"])
        #expect(head.headers["content-length"] == ["2"])
        try await receiver.close()
    }

    @Test("requests that get no answer do not delay another webhook on the same host")
    func sameHost() async throws {
        let receiver = try await Receiver(status: .ok, silentPath: "/silent")
        let time = ManualTime()
        let transport = try CheckedTransport(
            caFile: nil, group: MultiThreadedEventLoopGroup.singleton, time: time,
            resolver: Resolver(answers: [Self.loopback], time: time, delay: .zero))
        let url = "http://localhost:\(receiver.port)"
        let count = Limits.webhookRequestsInFlightMax
        let answer = try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { _ = try await Self.send("\(url)/silent", over: transport, allowed: ["localhost"]) }
            }
            try await Polling.wait(for: "the requests without an answer") { receiver.heads.count == count }
            let answer = try await Self.send("\(url)/quick", over: transport, allowed: ["localhost"])
            group.cancelAll()
            return answer
        }
        #expect(answer == .answered(status: 200, retryAfter: nil))
        await transport.close()
        try await receiver.close()
    }

    @Test("another attempt uses another address of the host")
    func otherAddress() async throws {
        let receiver = try await Receiver(status: .ok)
        // Nothing listens on the first address.
        var answers: [WebhookAnswer] = []
        for attempt in 0...2 {
            answers.append(
                try await send(
                    "http://receiver.localhost:\(receiver.port)/", allowed: [".localhost"],
                    resolved: [[127, 0, 0, 2], Self.loopback], attempt: attempt,
                    connectTimeout: attempt == 1 ? .seconds(30) : .milliseconds(300)))
        }
        let accepted = WebhookAnswer.answered(status: 200, retryAfter: nil)
        #expect(answers == [.failed(.noConnection), accepted, .failed(.noConnection)])
        try await receiver.close()
    }

    @Test("nothing is sent after a resolver that took as long as the delivery's lease lasts")
    func slowResolver() async throws {
        let receiver = try await Receiver(status: .ok)
        for (seconds, answer) in [
            (Limits.webhookTimeoutSeconds, WebhookAnswer.failed(.timeout)),
            (Limits.webhookTimeoutSeconds - 1, .answered(status: 200, retryAfter: nil)),
        ] {
            let given = try await send(
                "http://receiver.localhost:\(receiver.port)/", allowed: [".localhost"], resolved: [Self.loopback],
                after: .seconds(seconds))
            #expect(given == answer)
        }
        #expect(receiver.heads.count == 1)
        try await receiver.close()
    }

    @Test("a redirect is an answer and is not followed")
    func redirect() async throws {
        let other = try await Receiver(status: .ok)
        let receiver = try await Receiver(
            status: .temporaryRedirect, headers: ["location": "http://localhost:\(other.port)/"])
        let answer = try await send(
            "http://localhost:\(receiver.port)/", allowed: ["localhost"], resolved: [Self.loopback])
        #expect(answer == .answered(status: 307, retryAfter: nil))
        #expect(other.heads.isEmpty)
        try await receiver.close()
        try await other.close()
    }

    @Test("an answer with a very long body is still an answer, and its Retry-After is read")
    func longAnswer() async throws {
        let receiver = try await Receiver(
            status: .serviceUnavailable, headers: ["retry-after": "7"], bodyBytes: 4 * Limits.webhookReplyBytesMax)
        let answer = try await send(
            "http://localhost:\(receiver.port)/", allowed: ["localhost"], resolved: [Self.loopback])
        #expect(answer == .answered(status: 503, retryAfter: .seconds(7)))
        try await receiver.close()
    }
}

/// Gives every request the same answer, or none to those of one path, on a free loopback port.
final class Receiver: Sendable {
    let port: Int
    private let channel: any Channel
    private let seen: Seen

    private final class Seen: Sendable {
        let heads = Mutex<[HTTPRequestHead]>([])
    }

    var heads: [HTTPRequestHead] { seen.heads.withLock { $0 } }

    init(
        status: HTTPResponseStatus, headers: HTTPHeaders = [:], bodyBytes: Int = 0, silentPath: String? = nil
    ) async throws {
        let seen = Seen()
        self.seen = seen
        let body = ByteBuffer(repeating: UInt8(ascii: "x"), count: bodyBytes)
        var all = headers
        all.add(name: "content-length", value: String(bodyBytes))
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: all)
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(head: head, body: body, silentPath: silentPath, seen: seen))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func close() async throws { try await channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let head: HTTPResponseHead
        private let body: ByteBuffer
        private let silentPath: String?
        private let seen: Seen
        private var isSilent = false

        init(head: HTTPResponseHead, body: ByteBuffer, silentPath: String?, seen: Seen) {
            self.head = head
            self.body = body
            self.silentPath = silentPath
            self.seen = seen
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch Self.unwrapInboundIn(data) {
            case .head(let head):
                isSilent = head.uri == silentPath
                seen.heads.withLock { $0.append(head) }
            case .end where isSilent: break
            case .body: break
            case .end:
                context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
                context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
                context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
