internal import NIOPosix

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// Finds the addresses of a host.
package protocol AddressResolver: Sendable {
    /// Each as 4 bytes of IPv4 or 16 of IPv6, the best first; none for a host that has none.
    func addresses(of host: String) async -> [[UInt8]]
    /// Ends what it runs on. No look-up may follow.
    func close() async
}

/// The system's own resolver, on threads of its own because it blocks.
package struct SystemResolver: AddressResolver {
    private let threads: NIOThreadPool

    /// - Parameter threadCount: Look-ups at once.
    package init(threadCount: Int) { threads = NIOThreadPool(numberOfThreads: threadCount) }

    package func addresses(of host: String) async -> [[UInt8]] {
        // Started by the first look-up: a pool that runs must be shut down.
        threads.start()
        return (try? await threads.runIfActive { Self.lookUp(host) }) ?? []
    }

    package func close() async { try? await threads.shutdownGracefully() }

    private static func lookUp(_ host: String) -> [[UInt8]] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        // One entry an address instead of one for each type of socket.
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        return sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }.compactMap { entry in
            entry.flatMap { bytes($0.pointee) }
        }
    }

    private static func bytes(_ entry: addrinfo) -> [UInt8]? {
        guard let address = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { socket in
                withUnsafeBytes(of: socket.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { socket in
                withUnsafeBytes(of: socket.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
    }
}
