internal import NIOPosix
package import PealCore
internal import Synchronization

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
    /// - Parameter app: the app that contains the name. Slow names of one app do not hold up those of others.
    func addresses(of host: String, for app: AppKey) async -> [IPAddress]
}

/// The system's resolver. It blocks, so it has its own threads, which end with it; a slow name delays no other work.
package final class SystemResolver: HostResolver {
    private let threads: NIOThreadPool
    private let turns: Mutex<LookupTurns<CheckedContinuation<Void, Never>>>

    /// - Parameter threadCount: the number of lookups at once; further ones wait.
    package init(threadCount: Int) {
        threads = NIOThreadPool(numberOfThreads: threadCount)
        turns = Mutex(LookupTurns(countMax: threadCount))
    }

    deinit { threads.shutdownGracefully { _ in } }

    package func addresses(of host: String, for app: AppKey) async -> [IPAddress] {
        await withCheckedContinuation { waiter in
            if turns.withLock({ $0.begin(waiter, of: app) }) { waiter.resume() }
        }
        defer { turns.withLock { $0.end(of: app) }?.resume() }
        guard !Task.isCancelled else { return [] }
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

/// Decides whose lookup begins next. A name server that never answers occupies a thread for many seconds, so an app may
/// use only half of them at once, and apps with lookups that wait take turns.
struct LookupTurns<Waiter> {
    private let countMax: Int
    private var running: [AppKey: Int] = [:]
    private var runningCount = 0
    /// Lookups that wait, by app, oldest first; none is empty.
    private var waiting: [AppKey: [Waiter]] = [:]
    /// The apps whose lookups wait, the next one first.
    private var order: [AppKey] = []

    init(countMax: Int) { self.countMax = countMax }

    /// Returns whether the lookup may begin now. Otherwise `end` returns it when its turn comes.
    mutating func begin(_ waiter: Waiter, of app: AppKey) -> Bool {
        guard !mayBegin(app) else {
            start(app)
            return true
        }
        if waiting[app] == nil { order.append(app) }
        waiting[app, default: []].append(waiter)
        return false
    }

    /// Ends a lookup of `app`. Returns the one that begins instead.
    mutating func end(of app: AppKey) -> Waiter? {
        runningCount -= 1
        running[app] = running[app].flatMap { $0 > 1 ? $0 - 1 : nil }
        guard let index = order.firstIndex(where: { mayBegin($0) }) else { return nil }
        let next = order.remove(at: index)
        guard let waiter = waiting[next]?.removeFirst() else { return nil }
        if waiting[next]?.isEmpty == true { waiting[next] = nil } else { order.append(next) }
        start(next)
        return waiter
    }

    private func mayBegin(_ app: AppKey) -> Bool {
        runningCount < countMax && running[app, default: 0] < max(1, countMax / 2)
    }

    private mutating func start(_ app: AppKey) {
        runningCount += 1
        running[app, default: 0] += 1
    }
}
