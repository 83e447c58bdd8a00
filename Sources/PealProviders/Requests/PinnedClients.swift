import NIOCore
import PealCore
import PealNetwork
import Synchronization

/// Receives requests and returns their replies. A request with an address goes to that address only, with the host's
/// name in TLS and in `Host`; all others share one client.
final class PinnedClients: OutboundSender {
    private let client: OutboundClient
    private let pinned: ClientCache<OutboundClient>

    /// - Throws: if the CA file or the identity cannot be read.
    init(_ options: OutboundClient.Options, group: any EventLoopGroup, time: any TimeSource) throws {
        client = try OutboundClient(options, group: group, time: time)
        pinned = ClientCache(time: time) { pin in
            var options = options
            options.addresses = pin.override
            return try? OutboundClient(options, group: group, time: time)
        }
    }

    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply {
        guard let address = request.address else { return try await client.send(request) }
        guard let host = EndpointURI(request.url)?.host else { throw .unreachable("UnusableURI") }
        let reply = try await pinned.withClient(.init(host: host, address: address)) {
            own async throws(OutboundFailure) in
            await closeIdle()
            do throws(OutboundFailure) {
                return try await own.send(request)
            } catch .unsent(let reason) {
                throw .unreachable(reason)
            }
        }
        guard let reply else { throw .unreachable("NoTLS") }
        return reply
    }

    func close() async {
        for own in pinned.takeAll() { await own.close() }
        await client.close()
    }

    /// How many addresses have their own client.
    var count: Int { pinned.count }

    private func closeIdle() async {
        let idle = pinned.takeIdle(for: .seconds(Limits.guardedHostSeconds), countMax: Limits.guardedHostsCachedMax)
        for own in idle { await own.close() }
    }
}

/// Finds an address for an untrusted host: receives host names and returns one checked address each. A connection must
/// use that address, because the name may resolve to another one a moment later.
final class GuardedHosts: Sendable {
    /// The result of checking a host.
    enum Finding: Sendable, Hashable {
        case address(IPAddress)
        /// At least one of the name's addresses is not public.
        case privateAddress
        case noAddress
    }

    private struct Entry {
        let finding: Finding
        let at: Duration
    }

    private let resolver: any HostResolver
    private let addressGuard: AddressGuard
    private let time: any TimeSource
    private let countMax: Int
    private let known = Mutex<[String: Entry]>([:])

    init(
        resolver: any HostResolver, addressGuard: AddressGuard, time: any TimeSource,
        countMax: Int = Limits.guardedHostsCachedMax
    ) {
        self.resolver = resolver
        self.addressGuard = addressGuard
        self.time = time
        self.countMax = countMax
    }

    /// Returns a recent finding or resolves the name. If any address is not public, the host is refused: a private
    /// address among public ones is probably an attack.
    /// - Parameter app: the app whose device names the host.
    func find(_ host: String, for app: AppKey) async -> Finding {
        let now = time.uptime
        if let entry = known.withLock({ $0[host] }), Self.isFresh(entry, now) { return entry.finding }
        let addresses = await resolver.addresses(of: host, for: app)
        let finding: Finding
        if let first = addresses.first {
            finding = addresses.allSatisfy(addressGuard.permits) ? .address(first) : .privateAddress
        } else {
            finding = .noAddress
        }
        known.withLock { known in
            if known.count >= countMax { known = known.filter { Self.isFresh($0.value, now) } }
            if known.count >= countMax { known.removeAll() }
            known[host] = Entry(finding: finding, at: now)
        }
        return finding
    }

    private static func isFresh(_ entry: Entry, _ now: Duration) -> Bool {
        now - entry.at < .seconds(Limits.guardedHostSeconds)
    }
}
