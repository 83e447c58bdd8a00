import NIOCore
import PealCore
import PealNetwork

/// Sends requests that name an address over clients which connect to that address and nowhere else, with the name of
/// the host in TLS and in `Host`; all others over one client. Receives requests, hands on replies.
final class PinnedClients: OutboundSender {
    private let client: OutboundClient
    private let pinned: ClientCache<OutboundClient>

    /// - Throws: when the CA file or the identity cannot be read.
    init(_ options: OutboundClient.Options, group: any EventLoopGroup, time: any TimeSource) throws {
        client = try OutboundClient(options, group: group)
        pinned = ClientCache(time: time) { pin in
            var options = options
            options.addresses = pin.override
            return try? OutboundClient(options, group: group)
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

    /// How many addresses have a client of their own.
    var count: Int { pinned.count }

    private func closeIdle() async {
        let idle = pinned.takeIdle(for: .seconds(Limits.guardedHostSeconds), countMax: Limits.guardedHostsCachedMax)
        for own in idle { await own.close() }
    }
}
