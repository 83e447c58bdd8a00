internal import AsyncHTTPClient
internal import PealCore
internal import Synchronization

/// HTTP clients by host and checked address. A client is bound to the address that was checked: it never resolves the
/// host by itself.
final class ClientCache: Sendable {
    struct Key: Sendable, Hashable {
        let host: String
        /// As text.
        let address: String
    }

    private struct Entry {
        let client: HTTPClient
        var userCount = 0
        var usedAt: Duration
    }

    private let entries = Mutex<[Key: Entry]>([:])
    private let time: any TimeSource
    private let make: @Sendable (Key) -> HTTPClient

    init(time: any TimeSource, make: @escaping @Sendable (Key) -> HTTPClient) {
        self.time = time
        self.make = make
    }

    func withClient<R: Sendable>(_ key: Key, _ body: @Sendable (HTTPClient) async -> R) async -> R {
        let now = time.uptime
        let client = entries.withLock { entries in
            var entry = entries[key] ?? Entry(client: make(key), usedAt: now)
            entry.userCount += 1
            entries[key] = entry
            return entry.client
        }
        let result = await body(client)
        entries.withLock { entries in
            entries[key]?.userCount -= 1
            entries[key]?.usedAt = time.uptime
        }
        return result
    }

    /// Ends clients that nobody used for `idle`.
    func close(idleFor idle: Duration) async {
        let earliest = time.uptime - idle
        let closed = entries.withLock { entries in
            let old = entries.filter { $0.value.userCount == 0 && $0.value.usedAt <= earliest }
            for key in old.keys { entries[key] = nil }
            return old.values.map(\.client)
        }
        for client in closed { try? await client.shutdown() }
    }
}
