import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Ports for servers that must be told theirs before they listen.
enum LoopbackPort {
    /// Below those that systems give to outgoing connections and to whoever asks for any: nobody takes one by chance
    /// before its server has it.
    private static let range = 20_000..<32_000
    /// How many were tried; another process begins elsewhere.
    private static let tries = Mutex(Int(ProcessInfo.processInfo.processIdentifier) &* 7919)

    /// A port where nobody listens, another one at every call.
    static func free() throws -> Int {
        for _ in range {
            let number = tries.withLock { tries in
                tries &+= 1
                return tries
            }
            let port = range.lowerBound + number % range.count
            let attempt = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1).bind(host: "127.0.0.1", port: port)
            guard let channel = try? attempt.wait() else { continue }
            try channel.close().wait()
            return port
        }
        throw TestFailure("no port is free")
    }

    /// Returns once somebody listens.
    /// - Parameter isRunning: whether the one who will is there: false ends the wait.
    static func waitForListener(_ port: Int, while isRunning: () -> Bool = { true }) throws {
        for _ in 0..<3000 where isRunning() {
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
