import NIOCore
import PealCore
import Synchronization

/// Sends requests that name an address over clients which connect to that address and nowhere else, with the name of
/// the host in TLS and in `Host`; all others over one client. Receives requests, hands on replies.
final class PinnedClients: OutboundSender {
    private struct Pin: Hashable {
        let host: String
        let address: IPAddress
    }

    private struct Entry {
        let client: OutboundClient
        /// Requests on the wire: a client in use is never closed.
        var requests = 0
        var usedAt: Duration
    }

    private let client: OutboundClient
    private let options: OutboundClient.Options
    private let group: any EventLoopGroup
    private let time: any TimeSource
    private let entries = Mutex<[Pin: Entry]>([:])

    /// - Throws: when the CA file or the identity cannot be read.
    init(_ options: OutboundClient.Options, group: any EventLoopGroup, time: any TimeSource) throws {
        client = try OutboundClient(options, group: group)
        self.options = options
        self.group = group
        self.time = time
    }

    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply {
        guard let address = request.address else { return try await client.send(request) }
        guard let host = EndpointURI(request.url)?.host else { throw .unreachable("UnusableURI") }
        let pin = Pin(host: host, address: address)
        guard let own = lend(pin) else { throw .unreachable("NoTLS") }
        for idle in takeIdle() { await idle.close() }
        defer { giveBack(pin) }
        do {
            return try await own.send(request)
        } catch .unsent(let reason) {
            throw .unreachable(reason)
        }
    }

    func close() async {
        let clients = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.map(\.client)
        }
        for client in clients { await client.close() }
        await client.close()
    }

    /// How many addresses have a client of their own.
    var count: Int { entries.withLock { $0.count } }

    private func lend(_ pin: Pin) -> OutboundClient? {
        let uptime = time.uptime
        return entries.withLock { entries in
            var entry = entries[pin]
            if entry == nil {
                var options = options
                options.addresses = [pin.host: pin.address.description]
                guard let made = try? OutboundClient(options, group: group) else { return nil }
                entry = Entry(client: made, usedAt: uptime)
            }
            entry?.requests += 1
            entry?.usedAt = uptime
            entries[pin] = entry
            return entry?.client
        }
    }

    private func giveBack(_ pin: Pin) {
        entries.withLock { $0[pin]?.requests -= 1 }
    }

    /// Removes who had nothing to do for a while, and where there are still too many who had not the longest.
    private func takeIdle() -> [OutboundClient] {
        let uptime = time.uptime
        return entries.withLock { entries in
            var idle = entries.filter { $0.value.requests == 0 }.sorted { $0.value.usedAt < $1.value.usedAt }
            let excess = max(0, entries.count - Limits.guardedHostsCachedMax)
            let isOver = { (entry: Entry) in uptime - entry.usedAt >= .seconds(Limits.guardedHostSeconds) }
            idle = idle.enumerated().filter { $0 < excess || isOver($1.value) }.map(\.element)
            for (pin, _) in idle { entries[pin] = nil }
            return idle.map(\.value.client)
        }
    }
}
