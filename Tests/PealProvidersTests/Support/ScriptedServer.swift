import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import PealProviders

/// A TLS server that reacts to incoming frames as a test specifies.
final class ScriptedServer: Sendable {
    /// One connection, as a script sees it.
    struct Connection {
        /// Counted from 0.
        let number: Int
        let write: ([UInt8]) -> Void
        let close: () -> Void
        /// Stops reading for this long.
        let pause: (TimeAmount) -> Void
    }

    /// Called with each frame of each connection, on one event loop; first with nil when a connection begins.
    typealias Script = @Sendable (Connection, WireFrame?) -> Void

    let port: Int
    let directory: TestDirectory
    private let channel: any Channel
    private let counter: Counter

    var url: String { "https://127.0.0.1:\(port)" }
    var connectionCount: Int { counter.value }

    init(_ script: @escaping Script) throws {
        directory = try TestDirectory.certificates()
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(directory.file("cert.pem")).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: directory.file("key.pem"), format: .pem)))
        configuration.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: configuration)
        let counter = Counter()
        self.counter = counter
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        channel = try ServerBootstrap(group: loop)
            .childChannelInitializer { child in
                child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    try child.pipeline.syncOperations.addHandler(Handler(number: counter.next(), script: script))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    final class Counter: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0 - 1
            }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        let number: Int
        let script: Script
        var input = ByteBuffer()
        var hasPreface = false
        var frames: [WireFrame] = []
        var isRunning = false

        init(number: Int, script: @escaping Script) {
            self.number = number
            self.script = script
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var buffer = unwrapInboundIn(data)
            input.writeBuffer(&buffer)
            let connection = Connection(
                number: number,
                write: { bytes in
                    context.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
                },
                close: { context.close(promise: nil) },
                pause: { time in
                    let channel = context.channel
                    channel.setOption(.autoRead, value: false).whenSuccess {}
                    context.eventLoop.scheduleTask(in: time) {
                        channel.setOption(.autoRead, value: true).whenSuccess {}
                    }
                })
            if !hasPreface {
                guard input.readableBytes >= HTTP2Frame.preface.utf8.count else { return }
                input.moveReaderIndex(forwardBy: HTTP2Frame.preface.utf8.count)
                hasPreface = true
                script(connection, nil)
            }
            frames += WireFrame.parse(&input)
            // Writing and closing may deliver further bytes while a script runs.
            guard !isRunning else { return }
            isRunning = true
            while !frames.isEmpty { script(connection, frames.removeFirst()) }
            isRunning = false
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
