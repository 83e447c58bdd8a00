import NIOPosix
import PealCore
import Testing

@testable import PealProviders

@Suite("Clients that connect to a checked address")
struct PinnedClientsTests {
    private let time = ManualTime()

    private func clients(_ certificates: TestDirectory) throws -> PinnedClients {
        var options = OutboundClient.Options()
        options.caFile = certificates.file("cert.pem")
        return try PinnedClients(options, group: MultiThreadedEventLoopGroup.singleton, time: time)
    }

    private func outcome(_ clients: PinnedClients, _ request: OutboundRequest) async -> Result<Int, OutboundFailure> {
        do throws(OutboundFailure) {
            return .success(try await clients.send(request).status)
        } catch {
            return .failure(error)
        }
    }

    @Test("connect only to that address, under the host's own name")
    func pinned() async throws {
        let certificates = try TestDirectory.certificates()
        let peer = try HTTPPeer(certificates: certificates) { _ in .reply(201) }
        let clients = try clients(certificates)
        let url = "https://localhost:\(peer.port)/x"
        #expect(await outcome(clients, OutboundRequest(url: url, address: IPAddress("127.0.0.1"))) == .success(201))
        // The name resolves to the peer, but the checked address is another one.
        #expect(
            await outcome(clients, OutboundRequest(url: url, address: IPAddress("127.0.0.2")))
                == .failure(.unreachable("NoConnection")))
        #expect(await outcome(clients, OutboundRequest(url: url)) == .success(201))
        #expect(peer.requests.map { $0["host"] } == Array(repeating: "localhost:\(peer.port)", count: 2))
        await clients.close()
    }

    @Test("believe only a certificate for the host's name")
    func certificate() async throws {
        let certificates = try TestDirectory.certificates(names: "DNS:localhost")
        let peer = try HTTPPeer(certificates: certificates) { _ in .reply(201) }
        let clients = try clients(certificates)
        let request = OutboundRequest(
            url: "https://up.example.org:\(peer.port)/x", address: IPAddress("127.0.0.1"))
        #expect(await outcome(clients, request) == .failure(.unreachable("NoTLS")))
        #expect(peer.requests.isEmpty)
        await clients.close()
    }

    @Test("keep their connections, and end after an idle minute")
    func idle() async throws {
        let certificates = try TestDirectory.certificates()
        let peer = try HTTPPeer(certificates: certificates) { _ in .reply(201) }
        let clients = try clients(certificates)
        let request = OutboundRequest(url: "https://localhost:\(peer.port)/x", address: IPAddress("127.0.0.1"))
        for _ in 0..<20 { #expect(await outcome(clients, request) == .success(201)) }
        // A connection is free again a moment after its answer was read.
        #expect(peer.connectionCount < 20)
        #expect(clients.count == 1)
        time.advance(.seconds(60))
        let other = OutboundRequest(url: "https://localhost:\(peer.port)/x", address: IPAddress("127.0.0.3"))
        _ = await outcome(clients, other)
        #expect(clients.count == 1)
        await clients.close()
        #expect(clients.count == 0)
    }
}
