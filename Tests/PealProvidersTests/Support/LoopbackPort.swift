import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Ports for servers that need a fixed port before they listen.
enum LoopbackPort {
    /// Below the ephemeral range, so that no other program gets the port at random before its server listens on it.
    private static let range = 20_000..<32_000
    /// How many were tried. Another process starts at a different port.
    private static let tries = Mutex(Int(ProcessInfo.processInfo.processIdentifier) &* 7919)

    /// A port on which nothing listens, a different one at every call.
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

    /// Returns once a program listens on the port.
    /// - Parameter isRunning: whether the program that will listen is running: false ends the wait.
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
        throw TestFailure("nothing listens on \(port)")
    }

    /// Twenty milliseconds, so that another process can continue.
    static func pause() {
        try? MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.wait()
    }
}
