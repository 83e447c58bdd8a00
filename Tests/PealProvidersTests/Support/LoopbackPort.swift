import NIOCore
import NIOPosix

enum LoopbackPort {
    /// A port that was free a moment ago.
    static func free() throws -> Int {
        let channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).wait()
        defer { try? channel.close().wait() }
        guard let port = channel.localAddress?.port else { throw TestFailure("no port") }
        return port
    }

    /// Returns once somebody listens.
    static func waitForListener(_ port: Int) throws {
        for _ in 0..<250 {
            let attempt = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(1)).connect(host: "127.0.0.1", port: port)
            if let channel = try? attempt.wait() {
                try? channel.close().wait()
                return
            }
            pause()
        }
        throw TestFailure("nobody listens on \(port)")
    }

    /// Twenty milliseconds for another process to go on.
    static func pause() {
        try? MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.wait()
    }
}
