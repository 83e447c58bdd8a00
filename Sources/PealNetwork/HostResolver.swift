internal import NIOPosix
package import PealCore

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// Resolves the addresses of a host.
package protocol HostResolver: Sendable {
    /// The current addresses of the name, best first; empty if there are none.
    func addresses(of host: String) async -> [IPAddress]
}

/// The system's resolver. It blocks, so it has its own threads, which end with it; a slow name delays no other work.
package final class SystemResolver: HostResolver {
    private let threads: NIOThreadPool

    /// - Parameter threadCount: the number of lookups at once; further ones wait.
    package init(threadCount: Int) { threads = NIOThreadPool(numberOfThreads: threadCount) }

    deinit { threads.shutdownGracefully { _ in } }

    package func addresses(of host: String) async -> [IPAddress] {
        // Only the first call has an effect.
        threads.start()
        return (try? await threads.runIfActive { Self.lookUp(host) }) ?? []
    }

    private static func lookUp(_ host: String) -> [IPAddress] {
        var hints = addrinfo()
        // One entry per address, instead of one per address and socket type.
        hints.ai_protocol = CInt(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = address(entry), !addresses.contains(address) { addresses.append(address) }
            next = entry.ai_next
        }
        return addresses
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let raw = UnsafeRawPointer(entry.ai_addr) else { return nil }
        switch entry.ai_family {
        case AF_INET:
            let address = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            return IPAddress(bytes: withUnsafeBytes(of: address) { Array($0) })
        case AF_INET6:
            let address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return IPAddress(bytes: withUnsafeBytes(of: address) { Array($0) })
        default: return nil
        }
    }
}
