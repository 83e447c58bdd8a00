internal import Logging
internal import NIOCore
internal import PealAPI
internal import PealCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The limit on open descriptors. Every connection needs one.
enum DescriptorLimit {
    /// Raises the soft limit as far as the hard limit allows, at most to `Limits.descriptorsMax`. Returns the limit
    /// that is in force.
    static func raise() -> Int {
        var limit = rlimit()
        guard read(&limit) else { return 1024 }
        let wanted = min(limit.rlim_max, rlim_t(Limits.descriptorsMax))
        if limit.rlim_cur < wanted {
            var raised = rlimit(rlim_cur: wanted, rlim_max: limit.rlim_max)
            if write(&raised) { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// With a lower limit, ordinary traffic may run out of open files.
    private static let ordinary = 1024

    /// A line for the log if the limit is low: later errors do not name it as the cause.
    static func warning(_ limit: Int) -> String? {
        guard limit < ordinary else { return nil }
        return "only \(limit) files can be open at once; allow \(ordinary) or more (LimitNOFILE, ulimit -n)"
    }

    /// The soft limit.
    static var current: Int? {
        var limit = rlimit()
        return read(&limit) ? Int(clamping: limit.rlim_cur) : nil
    }

    private static func read(_ limit: inout rlimit) -> Bool {
        #if canImport(Glibc)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        #else
            getrlimit(RLIMIT_NOFILE, &limit) == 0
        #endif
    }

    private static func write(_ limit: inout rlimit) -> Bool {
        #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        #else
            setrlimit(RLIMIT_NOFILE, &limit) == 0
        #endif
    }
}

/// Counts the connections of a listener, and decides which are served. Connections beyond a limit only get an answer
/// that says so.
final class Connections: Sendable {
    /// How many connections are served at once.
    struct Capacity: Sendable, Hashable {
        var total: Int
        /// For one client address: an IPv4 address or the first half of an IPv6 address.
        var perAddress: Int
        /// Whether `perAddress` also applies to this machine. A local reverse proxy represents many clients.
        var limitsLoopback: Bool

        /// Half of the descriptors are for clients' connections. The rest is for the store, the push networks and
        /// surplus connections.
        init(total: Int?, perAddress: Int?, descriptors: Int) {
            let room = max(8, min(Limits.httpConnectionsMax, descriptors / 2))
            self.total = min(total ?? room, max(8, descriptors - descriptors / 4 - Limits.httpSurplusMax))
            self.perAddress = min(perAddress ?? max(8, self.total / 4), self.total)
            limitsLoopback = perAddress != nil
        }
    }

    struct Snapshot: Sendable {
        var served = 0
        var surplus = 0
        var refusedTotal = 0
    }

    private struct State {
        var served = 0
        var byAddress: [String: Int] = [:]
        /// Oldest first. Each closes its connection at once.
        var surplus: [(id: ObjectIdentifier, evict: @Sendable () -> Void)] = []
        var refusedTotal = 0
        var lastWarning: Duration?
    }

    private static let warningInterval = Duration.seconds(10)

    let capacity: Capacity
    private let proxies: Set<IPAddress>
    private let time: any TimeSource
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter proxies: addresses without a limit per address.
    init(_ capacity: Capacity, proxies: [IPAddress] = [], time: any TimeSource, logger: Logger) {
        self.capacity = capacity
        self.proxies = Set(proxies)
        self.time = time
        self.logger = logger
    }

    var snapshot: Snapshot {
        state.withLock { Snapshot(served: $0.served, surplus: $0.surplus.count, refusedTotal: $0.refusedTotal) }
    }

    /// Whether the connection is served. It counts until it closes.
    func admit(_ channel: any Channel) -> Bool {
        let peer = ClientNetwork.address(of: channel.remoteAddress)
        let address = ClientNetwork.name(of: peer)
        let isOwn = peer.map { AddressGuard.isLoopback($0.bytes) } ?? true
        let isProxy = peer.map(proxies.contains) ?? false
        let isLimited = !isProxy && (capacity.limitsLoopback || !isOwn)
        let isAdmitted = state.withLock { state in
            let own = state.byAddress[address, default: 0]
            guard state.served < capacity.total, !isLimited || own < capacity.perAddress else { return false }
            state.served += 1
            state.byAddress[address] = own + 1
            return true
        }
        guard isAdmitted else { return false }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.served -= 1
                let rest = state.byAddress[address, default: 1] - 1
                state.byAddress[address] = rest > 0 ? rest : nil
            }
        }
        return true
    }

    /// Counts a connection that is not served. If there are too many, the oldest is closed, because a health check
    /// sends its request at once, while a silent connection waits.
    func refuse(_ channel: any Channel, evict: @escaping @Sendable () -> Void) {
        let (oldest, isWarning, served) = state.withLock { state in
            state.refusedTotal += 1
            state.surplus.append((ObjectIdentifier(channel), evict))
            let oldest = state.surplus.count > Limits.httpSurplusMax ? state.surplus.removeFirst() : nil
            let now = time.uptime
            let isWarning = state.lastWarning.map { now - $0 >= Self.warningInterval } ?? true
            if isWarning { state.lastWarning = now }
            return (oldest, isWarning, state.served)
        }
        oldest?.evict()
        channel.closeFuture.whenComplete { [id = ObjectIdentifier(channel)] _ in
            self.state.withLock { $0.surplus.removeAll { $0.id == id } }
        }
        if isWarning {
            logger.warning(
                "too many connections: further ones get 503",
                metadata: [
                    "address": "\(ClientNetwork.name(of: ClientNetwork.address(of: channel.remoteAddress)))",
                    "connections": .stringConvertible(served),
                    "connections_max": .stringConvertible(capacity.total),
                    "per_address_max": .stringConvertible(capacity.perAddress),
                ])
        }
    }
}
