import ArgumentParser
import NIOCore
import NIOHTTP1
import NIOPosix
import PealCore

/// `peal-lab bench load`: sends HTTP/1.1 requests over keep-alive connections, one at a time on each, and prints rate
/// and latency.
struct LoadBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Send HTTP/1.1 requests over keep-alive connections.",
        discussion: """
            The request file is JSON: {"method", "path", "headers": {…}, "body"}. In path and body, {n} is the number \
            of the request, {hex} the same as 64 hexadecimal digits and {uuid} as a UUID.
            """)

    @Option(help: "Port on 127.0.0.1.")
    var port: Int

    @Option(help: "File with the request.")
    var request: String

    @Option(help: "Number of requests.")
    var count = 10_000

    @Option(help: "Number of the first request.")
    var first = 0

    @Option(help: "Connections.")
    var connections = 64

    func validate() throws {
        guard count > 0, (1...10_000).contains(connections), first >= 0 else {
            throw ValidationError("--count, --connections and --first are out of range")
        }
    }

    func run() async throws {
        let template = try LoadTemplate(BenchCommand.document(request))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let run = LoadRun(template: template, numbers: first..<(first + count), loop: loop)
        let clock = ContinuousClock()
        let channels = try await run.connect(connections, port: port, group)
        let start = clock.now
        try await run.start(channels)
        let seconds = (clock.now - start) / .seconds(1)
        let (latencies, refused) = try await loop.submit { (run.latencies.value.sorted(), run.refused.value) }.get()
        for channel in channels { try? await channel.close().get() }
        try await group.shutdownGracefully()
        func percentile(_ share: Double) -> JSON {
            .number("\(latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))] * 1000)")
        }
        BenchCommand.report([
            "requests": .integer(count), "seconds": .number("\(seconds)"),
            "per_second": .number("\(Double(count) / seconds)"), "p50_ms": percentile(0.5), "p99_ms": percentile(0.99),
            "refused": .object(.init(refused.map { ("\($0)", .integer($1)) })),
        ])
        guard refused.isEmpty else { throw ExitCode(1) }
    }
}

/// A request with placeholders for its number.
struct LoadTemplate: Sendable {
    private let method: HTTPMethod
    private let path: String
    private let headers: HTTPHeaders
    private let body: String

    /// - Throws: `ValidationError` when the document is not a request.
    init(_ document: JSON) throws {
        guard let method = document["method"]?.stringValue, let path = document["path"]?.stringValue else {
            throw ValidationError("a request needs a method and a path")
        }
        self.method = HTTPMethod(rawValue: method)
        self.path = path
        let members = document["headers"]?.objectValue.map { Array($0.pairs) } ?? []
        headers = HTTPHeaders(members.map { ($0.0, $0.1.stringValue ?? "") } + [("Host", "127.0.0.1")])
        body = document["body"]?.stringValue ?? ""
    }

    /// The request with its number filled in.
    func request(_ number: Int) -> (head: HTTPRequestHead, body: ByteBuffer) {
        let body = ByteBuffer(string: filled(body, number))
        var headers = headers
        if body.readableBytes > 0 { headers.replaceOrAdd(name: "Content-Length", value: "\(body.readableBytes)") }
        return (HTTPRequestHead(version: .http1_1, method: method, uri: filled(path, number), headers: headers), body)
    }

    private func filled(_ text: String, _ number: Int) -> String {
        guard text.contains("{") else { return text }
        let digits = String(number, radix: 16)
        func padded(_ length: Int) -> String { String(repeating: "0", count: length - digits.count) + digits }
        return text.replacing("{n}", with: "\(number)").replacing("{hex}", with: padded(64))
            .replacing("{uuid}", with: "00000000-0000-4000-8000-\(padded(12))")
    }
}

/// Sends requests over several connections of one event loop until the numbers run out.
final class LoadRun: Sendable {
    /// Seconds from each request to its whole response.
    let latencies: NIOLoopBoundBox<[Double]>
    /// The number of responses by status, for statuses other than 2xx.
    let refused: NIOLoopBoundBox<[UInt: Int]>
    private let number: NIOLoopBoundBox<Int>
    private let template: LoadTemplate
    private let numbers: Range<Int>
    private let done: EventLoopPromise<Void>

    init(template: LoadTemplate, numbers: Range<Int>, loop: any EventLoop) {
        self.template = template
        self.numbers = numbers
        latencies = .makeBoxSendingValue([], eventLoop: loop)
        refused = .makeBoxSendingValue([:], eventLoop: loop)
        number = .makeBoxSendingValue(numbers.lowerBound, eventLoop: loop)
        done = loop.makePromise()
    }

    func connect(_ count: Int, port: Int, _ group: any EventLoopGroup) async throws -> [any Channel] {
        let bootstrap = ClientBootstrap(group: group).channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(LoadHandler(self))
                }
            }
        var channels: [any Channel] = []
        for _ in 0..<count { channels.append(try await bootstrap.connect(host: "127.0.0.1", port: port).get()) }
        return channels
    }

    /// Starts a request on every connection and returns when all numbers are answered.
    /// - Throws: when a connection ends early.
    func start(_ channels: [any Channel]) async throws {
        for channel in channels { channel.triggerUserOutboundEvent(LoadHandler.Start(), promise: nil) }
        try await done.futureResult.get()
    }

    /// The next request; nil when there are no more.
    fileprivate func next() -> (head: HTTPRequestHead, body: ByteBuffer)? {
        guard number.value < numbers.upperBound else { return nil }
        defer { number.value += 1 }
        return template.request(number.value)
    }

    fileprivate func answered(_ status: HTTPResponseStatus, after duration: Duration) {
        latencies.value.append(duration / .seconds(1))
        if !(200..<300).contains(status.code) { refused.value[status.code, default: 0] += 1 }
        if latencies.value.count == numbers.count { done.succeed() }
    }

    fileprivate func failed(_ error: any Error) { done.fail(error) }
}

/// One connection.
private final class LoadHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// Makes the connection send its first request.
    struct Start: Sendable {}

    private let run: LoadRun
    private var begun = ContinuousClock.now
    private var status = HTTPResponseStatus.ok
    private var isWaiting = false

    init(_ run: LoadRun) { self.run = run }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is Start else { return context.triggerUserOutboundEvent(event, promise: promise) }
        send(context)
        promise?.succeed()
    }

    private func send(_ context: ChannelHandlerContext) {
        guard let (head, body) = run.next() else { return }
        begun = .now
        isWaiting = true
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if body.readableBytes > 0 { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): status = head.status
        case .body: break
        case .end:
            isWaiting = false
            run.answered(status, after: .now - begun)
            send(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isWaiting { run.failed(ChannelError.eof) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        run.failed(error)
        context.close(promise: nil)
    }
}
