import Foundation
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Sends raw bytes to a port of this machine and returns everything until the server closes the connection.
enum RawConnection {
    struct Failure: Error {}

    static func exchange(_ request: String, port: Int) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            // A separate thread, because reading blocks.
            Thread.detachNewThread { continuation.resume(with: Result { try blocking(request, port: port) }) }
        }
    }

    private static func blocking(_ request: String, port: Int) throws -> String {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        defer { close(descriptor) }
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        let isConnected = address.withSockAddr { connect(descriptor, $0, socklen_t($1)) == 0 }
        guard isConnected else { throw Failure() }
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(request.utf8)
        guard send(descriptor, bytes, bytes.count, 0) == bytes.count else { throw Failure() }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += buffer[..<count]
        }
    }
}
