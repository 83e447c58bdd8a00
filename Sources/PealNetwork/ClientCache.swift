package import PealCore
internal import Synchronization

/// Caches clients that are pinned to one host and one checked address. A connection must use exactly the address that
/// was checked, because the name may resolve to another one a moment later. The cache provides a client for each pin
/// and hands back idle ones to be closed.
package final class ClientCache<Client: Sendable>: Sendable {
    /// A host and the address that connections to it must use.
    package struct Pin: Sendable, Hashable {
        package let host: String
        package let address: IPAddress

        package init(host: String, address: IPAddress) {
            self.host = host
            self.address = address
        }

        /// The value for async-http-client's `dnsOverride`.
        package var override: [String: String] { [host: address.description] }
    }

    private struct Entry {
        let client: Client
        /// A client in use is never idle.
        var userCount = 0
        var usedAt: Duration
    }

    private let entries = Mutex<[Pin: Entry]>([:])
    private let time: any TimeSource
    private let make: @Sendable (Pin) -> Client?

    /// - Parameter make: makes a client that only connects to the pin's address; nil when that is impossible.
    package init(time: any TimeSource, make: @escaping @Sendable (Pin) -> Client?) {
        self.time = time
        self.make = make
    }

    /// The number of clients.
    package var count: Int { entries.withLock { $0.count } }

    /// Runs `body` with the client of `pin`; nil when there is none.
    package func withClient<Result: Sendable, Failure: Error>(
        _ pin: Pin, _ body: @Sendable (Client) async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard let client = acquire(pin) else { return nil }
        defer { giveBack(pin) }
        return try await body(client)
    }

    /// Removes the clients that were idle for `idle`, and further idle ones, longest idle first, until at most
    /// `countMax` are left. The caller closes them.
    package func takeIdle(for idle: Duration, countMax: Int = .max) -> [Client] {
        let uptime = time.uptime
        return entries.withLock { entries in
            let unused = entries.filter { $0.value.userCount == 0 }.sorted { $0.value.usedAt < $1.value.usedAt }
            let excess = max(0, entries.count - countMax)
            let taken = unused.enumerated().filter { $0 < excess || uptime - $1.value.usedAt >= idle }.map(\.element)
            for (pin, _) in taken { entries[pin] = nil }
            return taken.map(\.value.client)
        }
    }

    /// Removes every client, in use or not.
    package func takeAll() -> [Client] {
        entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.client)
        }
    }

    private func acquire(_ pin: Pin) -> Client? {
        let uptime = time.uptime
        return entries.withLock { entries in
            guard var entry = entries[pin] ?? make(pin).map({ Entry(client: $0, usedAt: uptime) }) else { return nil }
            entry.userCount += 1
            entry.usedAt = uptime
            entries[pin] = entry
            return entry.client
        }
    }

    private func giveBack(_ pin: Pin) {
        let uptime = time.uptime
        entries.withLock { entries in
            entries[pin]?.userCount -= 1
            entries[pin]?.usedAt = uptime
        }
    }
}
