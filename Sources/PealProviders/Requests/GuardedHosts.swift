import PealCore
import PealNetwork
import Synchronization

/// Finds an address that may be connected to for hosts that strangers name: receives names, hands on one address each,
/// checked. Whoever connects must use that very address, since a name may stand for another one a moment later.
final class GuardedHosts: Sendable {
    enum Finding: Sendable, Hashable {
        case address(IPAddress)
        /// Some address of the name is not a public one.
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

    /// What was found lately, or is found now. One address that is not public spoils all: who hides it among others
    /// means it to be reached.
    func find(_ host: String) async -> Finding {
        let now = time.uptime
        if let entry = known.withLock({ $0[host] }), Self.isFresh(entry, now) { return entry.finding }
        let addresses = await resolver.addresses(of: host)
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
