package import PealCore
internal import Synchronization

/// Clients of one host and one checked address each: whoever connects must use the very address that was checked, since
/// a name may stand for another one a moment later. Receives pins, lends a client for each, and hands the idle ones
/// back to be closed.
package final class ClientCache<Client: Sendable>: Sendable {
    /// A host and the address that connections to it must use.
    package struct Pin: Sendable, Hashable {
        package let host: String
        package let address: IPAddress

        package init(host: String, address: IPAddress) {
            self.host = host
            self.address = address
        }

        /// The same as async-http-client's `dnsOverride` takes it.
        package var override: [String: String] { [host: address.description] }
    }

    private struct Entry {
        let client: Client
        /// A client in use is never taken out for being idle.
        var userCount = 0
        var usedAt: Duration
    }

    private let entries = Mutex<[Pin: Entry]>([:])
    private let time: any TimeSource
    private let make: @Sendable (Pin) -> Client?

    /// - Parameter make: A client that connects to the pin's address and nowhere else; nil when there can be none.
    package init(time: any TimeSource, make: @escaping @Sendable (Pin) -> Client?) {
        self.time = time
        self.make = make
    }

    /// How many clients there are.
    package var count: Int { entries.withLock { $0.count } }

    /// What `body` makes of the pin's client; nil when there is none.
    package func withClient<Result: Sendable, Failure: Error>(
        _ pin: Pin, _ body: @Sendable (Client) async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard let client = lend(pin) else { return nil }
        defer { giveBack(pin) }
        return try await body(client)
    }

    /// Takes out the clients that nobody used for `idle`, and where there are still more than `countMax` those that
    /// nobody uses, the longest idle first. The caller closes them.
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

    /// Takes out every client, in use or not.
    package func takeAll() -> [Client] {
        entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.client)
        }
    }

    private func lend(_ pin: Pin) -> Client? {
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
