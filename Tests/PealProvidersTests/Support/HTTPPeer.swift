import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// An HTTP/1.1 server that handles each request as a test specifies.
final class HTTPPeer: Sendable {
    struct Request: Sendable {
        let method: HTTPMethod
        let target: String
        let version: HTTPVersion
        let headers: HTTPHeaders
        let body: [UInt8]
        /// Counted from 0.
        let connection: Int

        subscript(_ name: String) -> String? { headers.first(name: name) }
    }

    enum Action: Sendable {
        case reply(Int, [(String, String)] = [], String = "")
        /// Answered 200 by `release`.
        case hold
        /// Never answered.
        case silence
        /// The head, and a body that never ends.
        case drip(Int, String)
        case hangUp
    }

    private struct State {
        var requests: [Request] = []
        var held: [@Sendable () -> Void] = []
        var heldAtOnceMax = 0
        var isReleased = false
        var connections = 0
        var open = 0
        var channels: [any Channel] = []
        var watchers: [(condition: @Sendable (Int, Int) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    let port: Int
    let scheme: String
    private let channel: any Channel
    private let state: SharedState

    private final class SharedState: Sendable {
        let value = Mutex(State())

        func change<R: Sendable>(_ body: (inout State) -> R) -> R {
            let (result, woken) = value.withLock { state in
                let result = body(&state)
                let woken = state.watchers.filter { $0.condition(state.requests.count, state.held.count) }
                state.watchers.removeAll { $0.condition(state.requests.count, state.held.count) }
                return (result, woken)
            }
            for watcher in woken { watcher.continuation.resume() }
            return result
        }
    }

    /// - Parameters:
    ///   - certificates: with `cert.pem` and `key.pem` for TLS; nil = none.
    ///   - protocols: what TLS negotiates; the peer speaks HTTP/1.1 only.
    init(
        certificates: TestDirectory? = nil, clientRoots: String? = nil, protocols: [String] = [],
        _ script: @escaping @Sendable (Request) -> Action
    ) throws {
        let context = try certificates.map { try Self.tls($0, clientRoots: clientRoots, protocols) }
        let state = SharedState()
        self.state = state
        scheme = context == nil ? "http" : "https"
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { child in
                child.eventLoop.makeCompletedFuture {
                    let pipeline = child.pipeline.syncOperations
                    if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    let number = state.change { state in
                        state.connections += 1
                        state.open += 1
                        state.channels.append(child)
                        return state.connections - 1
                    }
                    try pipeline.addHandler(Handler(number: number, state: state, script: script))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    var url: String { "\(scheme)://127.0.0.1:\(port)" }
    var requests: [Request] { state.value.withLock { $0.requests } }
    var connectionCount: Int { state.value.withLock { $0.connections } }
    var heldAtOnceMax: Int { state.value.withLock { $0.heldAtOnceMax } }
    var openConnections: Int { state.value.withLock { $0.open } }

    /// Answers the held requests, and later ones at once.
    func release() {
        let held = state.change { state in
            state.isReleased = true
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer() }
    }

    /// Closes every connection.
    func hangUp() async throws {
        let channels = state.change { state in
            defer { state.channels = [] }
            return state.channels
        }
        for channel in channels where channel.isActive { try await channel.close() }
    }

    /// Returns once this many requests have arrived.
    func received(_ count: Int) async { await wait { requests, _ in requests >= count } }

    /// Returns once this many requests are held.
    func holding(_ count: Int) async { await wait { _, held in held >= count } }

    private func wait(_ condition: @escaping @Sendable (Int, Int) -> Bool) async {
        await withCheckedContinuation { continuation in
            state.change { $0.watchers.append((condition, continuation)) }
        }
    }

    private static func tls(
        _ certificates: TestDirectory, clientRoots: String?, _ protocols: [String]
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificates.file("cert.pem"))
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.file("key.pem"), format: .pem)))
        configuration.applicationProtocols = protocols
        if let clientRoots {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .file(clientRoots)
        }
        return try NIOSSLContext(configuration: configuration)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart
        private let number: Int
        private let state: SharedState
        private let script: @Sendable (Request) -> Action
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(number: Int, state: SharedState, script: @escaping @Sendable (Request) -> Action) {
            self.number = number
            self.state = state
            self.script = script
        }

        func channelInactive(context: ChannelHandlerContext) {
            state.change { $0.open -= 1 }
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = []
            case .body(let part): body += part.readableBytesView
            case .end:
                guard let head else { return }
                let request = Request(
                    method: head.method, target: head.uri, version: head.version, headers: head.headers, body: body,
                    connection: number)
                state.change { $0.requests.append(request) }
                act(script(request), context)
            }
        }

        private func act(_ action: Action, _ context: ChannelHandlerContext) {
            let channel = context.channel
            switch action {
            case .reply(let status, let headers, let text): Self.reply(channel, status, headers, text)
            case .hold:
                let isReleased = state.change { state in
                    guard !state.isReleased else { return true }
                    state.held.append { Self.reply(channel, 200, [], "") }
                    state.heldAtOnceMax = max(state.heldAtOnceMax, state.held.count)
                    return false
                }
                if isReleased { Self.reply(channel, 200, [], "") }
            case .silence: break
            case .drip(let status, let text):
                let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status))
                channel.write(HTTPServerResponsePart.head(head), promise: nil)
                channel.writeAndFlush(
                    HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
            case .hangUp: context.close(promise: nil)
            }
        }

        private static func reply(_ channel: any Channel, _ status: Int, _ fields: [(String, String)], _ text: String) {
            var headers = HTTPHeaders(fields)
            headers.replaceOrAdd(name: "content-length", value: String(text.utf8.count))
            let head = HTTPResponseHead(
                version: .http1_1, status: .init(statusCode: status), headers: headers)
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            if !text.isEmpty {
                channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
            }
            channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        }
    }
}
