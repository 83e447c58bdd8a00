import Dispatch
import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOSSL
import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealProviders

@Suite("The client of single requests")
struct OutboundClientTests {
    /// Sends one request with a new client.
    private func send(
        _ request: OutboundRequest, _ change: (inout OutboundClient.Options) -> Void = { _ in }
    ) async throws -> Result<OutboundReply, OutboundFailure> {
        let client = try testClient(change)
        let result: Result<OutboundReply, OutboundFailure>
        do throws(OutboundFailure) {
            result = .success(try await client.send(request))
        } catch {
            result = .failure(error)
        }
        await client.close()
        return result
    }

    @Test("states the length of every body, even of an empty one", arguments: [0, 1, 5000])
    func length(bytes: Int) async throws {
        let peer = try HTTPPeer { _ in .reply(200, [("x-a", "1")], "body") }
        let body = Array(repeating: UInt8(ascii: "x"), count: bytes)
        let reply = try await send(.init(url: peer.url + "/a?b=%2f", body: body)).get()
        #expect(reply.status == 200 && reply.body == Array("body".utf8) && reply.headers.first(name: "X-A") == "1")
        let request = try #require(peer.requests.first)
        #expect(request.method == .POST && request.target == "/a?b=%2f" && request.body == body)
        #expect(request["content-length"] == String(bytes))
        #expect(request["transfer-encoding"] == nil && request["expect"] == nil)
    }

    @Test("follows no redirect", arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) async throws {
        let peer = try HTTPPeer { request in
            request.target == "/" ? .reply(status, [("location", "/elsewhere")]) : .reply(200)
        }
        #expect(try await send(.init(url: peer.url + "/")).get().status == status)
        #expect(peer.requests.map(\.target) == ["/"])
    }

    @Test("reads a long answer up to the limit")
    func longAnswer() async throws {
        let peer = try HTTPPeer { _ in .reply(200, [], String(repeating: "x", count: 300_000)) }
        let reply = try await send(.init(url: peer.url, timeout: .seconds(600))).get()
        #expect(reply.body.count == Limits.outboundReplyBytesMax)
        var request = OutboundRequest(url: peer.url, timeout: .seconds(600))
        request.replyBytesMax = 1_000_000
        #expect(try await send(request).get().body.count == 300_000)
    }

    @Test("an answer whose body does not end keeps its status, and what arrived of the body")
    func drip() async throws {
        let peer = try HTTPPeer { _ in .drip(410, "x") }
        // Long enough for the head to arrive on a busy machine.
        let reply = try await send(.init(url: peer.url, timeout: .seconds(4))).get()
        #expect(reply.status == 410)
        #expect(reply.body == Array("x".utf8))
    }

    @Test("a body that does not end after a late head takes no second time-out")
    func lateDrip() async throws {
        let time = ManualTime()
        let peer = try HTTPPeer { _ in
            time.advance(.seconds(60))
            return .drip(201, "x")
        }
        let client = try testClient(time: time)
        let clock = ContinuousClock()
        let begun = clock.now
        let reply = try await client.send(.init(url: peer.url, timeout: .seconds(60)))
        #expect(reply.status == 201)
        #expect(clock.now - begun < .seconds(30))
        await client.close()
    }

    @Test("silence and a broken connection are lost: the request may have arrived")
    func lost() async throws {
        let peer = try HTTPPeer { $0.target == "/silence" ? .silence : .hangUp }
        let silence = try await send(.init(url: peer.url + "/silence", timeout: .milliseconds(200)))
        #expect(silence == .failure(.lost("Timeout")))
        #expect(try await send(.init(url: peer.url + "/hang")) == .failure(.lost("ConnectionLost")))
    }

    /// The client's only event loop is held twice, so that it closes the connection and then begins the request that it
    /// was given before.
    @Test("a request that meets a closed connection is sent again on another one")
    func closed() async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let client = try OutboundClient(.init(), group: group, time: ManualTime())
        let request = OutboundRequest(url: peer.url, body: Array("hello".utf8))
        #expect(try await client.send(request).status == 200)
        let (first, second) = (LoopHold(), LoopHold())
        let port = try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HoldingHandler(second))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        group.next().execute { first.hold() }
        try await first.begun()
        // What became readable first is handled first.
        try await LoopHold.ring(try #require(port.localAddress))
        try await peer.hangUp()
        first.release()
        try await second.begun()
        async let reply = client.send(request)
        // Nothing shows when the request has reached the loop. If it came too late, it would not meet the connection.
        try await Task.sleep(for: .milliseconds(300))
        second.release()
        #expect(try await reply.status == 200)
        #expect(peer.requests.map(\.connection) == [0, 1])
        #expect(peer.requests.map(\.body) == [request.body, request.body])
        await client.close()
        try await group.shutdownGracefully()
    }

    @Test("time in which this process could not run counts towards no timeout")
    func lag() async throws {
        let peer = try HTTPPeer { _ in .silence }
        let time = PealTesting.ManualTime()
        let client = try testClient(time: time)
        let clock = ContinuousClock()
        let begun = clock.now
        async let reply = client.send(.init(url: peer.url, timeout: .milliseconds(300)))
        try await Polling.wait(for: "the request") { !peer.requests.isEmpty }
        time.stall(for: .milliseconds(700))
        var failure: (any Error)?
        do { _ = try await reply } catch { failure = error }
        #expect(failure as? OutboundFailure == .lost("Timeout"))
        #expect(clock.now - begun >= .milliseconds(1000))
        await client.close()
    }

    @Test("countless hosts keep a bounded number of pools, and a request in flight ends on its client")
    func manyHosts() async throws {
        let peer = try HTTPPeer { $0.target == "/wait" ? .hold : .reply(200) }
        let hosts = (0..<20).map { "host\($0).test" }
        let client = try testClient(originsMax: 4) { options in
            options.addresses = Dictionary(uniqueKeysWithValues: hosts.map { ($0, "127.0.0.1") })
        }
        async let held = client.send(
            .init(url: "http://\(hosts[0]):\(peer.port)/wait", timeout: .seconds(600)))
        try await Polling.wait(for: "the request") { !peer.requests.isEmpty }
        for round in 0..<2 {
            for (index, host) in hosts.enumerated() {
                let reply = try await client.send(.init(url: "http://\(host):\(peer.port)/\(round)/\(index)"))
                #expect(reply.status == 200)
                #expect(client.originCount <= 4)
            }
        }
        peer.release()
        #expect(try await held.status == 200)
        await client.close()
    }

    @Test("what cannot be connected to, and a name without an address, leave the request unsent")
    func unsent() async throws {
        // Nobody listens on tcpmux.
        let url = "http://127.0.0.1:1"
        let refused = try await send(.init(url: url))
        #expect(refused == .failure(.unsent("NoConnection")))
        let unknown = try await send(.init(url: "http://nobody.invalid"))
        #expect(unknown == .failure(.unsent("NoConnection")))
    }

    @Test(
        "a connection that breaks, or does not come about in time, leaves its request unsent", arguments: [true, false])
    func unwritten(resets: Bool) async throws {
        let peer = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { child in
                child.eventLoop.makeCompletedFuture {
                    try child.pipeline.syncOperations.addHandler(HandshakeBreaker(resets: resets))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(peer.localAddress?.port)
        let timeout: Duration = resets ? .seconds(600) : .milliseconds(200)
        let result = try await send(.init(url: "https://127.0.0.1:\(port)", timeout: timeout)) {
            $0.connectTimeout = .seconds(1)
        }
        #expect(result == .failure(.unsent("NoConnection")))
        try await peer.close()
    }

    @Test("a request whose deadline passed before it had a connection is not written", arguments: ["", "hello"])
    func late(body: String) async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        let time = ManualTime()
        let client = try testClient(time: time)
        var request = OutboundRequest(url: peer.url, body: Array(body.utf8))
        for overdue in [Duration.milliseconds(1), .seconds(3600)] {
            request.deadline = time.uptime - overdue
            var failure: (any Error)?
            do { _ = try await client.send(request) } catch { failure = error }
            #expect(failure as? OutboundFailure == .late)
        }
        try await Polling.wait(for: "the connections") { peer.connectionCount == 2 }
        request.deadline = time.uptime
        #expect(try await client.send(request).status == 200)
        #expect(try await client.send(request).status == 200)
        #expect(peer.requests.count == 2)
        for received in peer.requests {
            #expect(received.body == request.body)
            #expect(!received.headers.contains { $0.name.lowercased().hasPrefix("x-peal") })
        }
        await client.close()
    }

    @Test("TLS connects only to peers that the roots trust, and without a handshake nothing was sent")
    func tls() async throws {
        let certificates = try TestDirectory.certificates()
        let peer = try HTTPPeer(certificates: certificates) { _ in .reply(200) }
        #expect(try await send(.init(url: peer.url)) == .failure(.unsent("NoTLS")))
        let reply = try await send(.init(url: peer.url)) { $0.caFile = certificates.file("cert.pem") }
        #expect(try reply.get().status == 200)
        #expect(peer.requests.count == 1)
    }

    @Test("presents its certificate if one is requested")
    func identity() async throws {
        let certificates = try TestDirectory.certificates()
        let own = try TestDirectory.certificates()
        let peer = try HTTPPeer(certificates: certificates, clientRoots: own.file("cert.pem")) { _ in .reply(200) }
        let reply = try await send(.init(url: peer.url)) {
            $0.caFile = certificates.file("cert.pem")
            $0.identity = try? own.identity()
        }
        #expect(try reply.get().status == 200)
        let bare = try await send(.init(url: peer.url)) { $0.caFile = certificates.file("cert.pem") }
        #expect(throws: OutboundFailure.self) { try bare.get() }
        #expect(peer.requests.count == 1)
    }

    @Test("a request for which no HTTP/2 stream was opened was not sent")
    func refusedConnection() async throws {
        let (certificates, own) = (try TestDirectory.certificates(), try TestDirectory.certificates())
        let peer = try HTTPPeer(
            certificates: certificates, clientRoots: own.file("cert.pem"), protocols: ["h2"]
        ) { _ in .reply(200) }
        let reply = try await send(.init(url: peer.url)) {
            $0.caFile = certificates.file("cert.pem")
            $0.allowsHTTP2 = true
        }
        #expect(reply == .failure(.unsent("NoConnection")))
    }

    @Test("recognizes the alert for a certificate that is refused after the handshake")
    func refusedCertificate() throws {
        let (theirs, own) = (try TestDirectory.certificates(), try TestDirectory.certificates())
        var serverSide = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(theirs.file("cert.pem")).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: theirs.file("key.pem"), format: .pem)))
        serverSide.certificateVerification = .noHostnameVerification
        serverSide.trustRoots = .file(theirs.file("cert.pem"))
        var clientSide = TLSConfiguration.makeClientConfiguration()
        clientSide.trustRoots = .file(theirs.file("cert.pem"))
        try clientSide.show(own.identity())
        let (server, client) = (EmbeddedChannel(), EmbeddedChannel())
        try server.pipeline.syncOperations.addHandler(
            NIOSSLServerHandler(context: NIOSSLContext(configuration: serverSide)))
        try client.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: NIOSSLContext(configuration: clientSide), serverHostname: "localhost"))
        for end in [server, client] {
            end.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }
        var caught: (any Error)?
        for _ in 0..<10 {
            while let bytes = try client.readOutbound(as: ByteBuffer.self) { _ = try? server.writeInbound(bytes) }
            while let bytes = try server.readOutbound(as: ByteBuffer.self) {
                do { try client.writeInbound(bytes) } catch { caught = caught ?? error }
            }
        }
        #expect((caught as? BoringSSLError)?.refusesCertificate == true)
        #expect(!BoringSSLError.sslError([.eofDuringHandshake]).refusesCertificate)
    }

    @Test("connects to the address that was checked, whatever the name resolves to")
    func pinned() async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        let reply = try await send(.init(url: "http://push.example.invalid:\(peer.port)/")) {
            $0.addresses = ["push.example.invalid": "127.0.0.1"]
        }
        #expect(try reply.get().status == 200)
        #expect(peer.requests.first?["host"] == "push.example.invalid:\(peer.port)")
    }

    @Test(
        "reads Retry-After in seconds and as a date, at most six hours",
        arguments: [
            ("120", 120), ("0", 0), ("999999999", 21_600), ("-1", nil), ("soon", nil), ("1.5", nil), ("", nil),
            ("Fri, 15 Jan 2027 08:00:30 GMT", 30), ("Fri, 15 Jan 2027 07:59:30 GMT", nil),
            ("Wed, 15 Jan 2030 08:00:30 GMT", 21_600), ("Friday, 15-Jan-27 08:00:30 GMT", 30),
        ] as [(String, Int64?)])
    func retryAfter(text: String, seconds: Int64?) {
        let reply = OutboundReply(status: 429, headers: ["Retry-After": text], body: [])
        #expect(reply.retryAfter(now: Timestamp(seconds: 1_800_000_000)) == seconds.map { .seconds($0) })
        #expect(OutboundReply(status: 429, headers: [:], body: []).retryAfter(now: Timestamp(seconds: 0)) == nil)
    }

    @Test("compares no long text with a date", .timeLimit(.minutes(1)))
    func longDate() {
        let marks = String(repeating: "\u{301}\u{316}", count: 1_000_000)
        #expect(RetryAfter("Sun a\(marks)  6 08:49:37 1994") == nil)
        #expect(RetryAfter("Wednesday, 12-Jan-27 08:00:00 GMT") != nil)
    }

    @Test(
        "reads dates as HTTP writes them",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Fri, 15 Jan 2027 08:00:00 GMT", 1_800_000_000),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Thu, 30 Feb 2024 23:59:59 GMT", nil),
            ("Sun, 06 Nov 1994 08:49:37 UTC", nil), ("Sun Nov  6 08:49:37 1994", 784_111_777), ("", nil),
            ("Sun, 06 Now 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Friday, 15-Jan-27 08:00:00 GMT", 1_800_000_000),
            ("Friday, 15-Jan-2027 08:00:00 GMT", nil), ("Friday, 15-Jan-27 08:00:00 UTC", nil),
            ("Fri Jan 15 08:00:00 2027", 1_800_000_000), ("Fri Jan 15 08:00:00 27", nil),
        ] as [(String, Int64?)])
    func dates(text: String, seconds: Int64?) {
        #expect(HTTPDate.timestamp(text) == seconds.map { Timestamp(seconds: $0) })
    }
}

/// Resets a connection when the handshake begins, or never answers it.
private final class HandshakeBreaker: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let resets: Bool

    init(resets: Bool) { self.resets = resets }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard resets, let socket = context.channel as? any SocketOptionProvider else { return }
        _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        context.close(promise: nil)
    }
}

/// Holds an event loop until it is released.
private final class LoopHold: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let hasBegun = Atomic(false)

    func hold() {
        hasBegun.store(true, ordering: .releasing)
        end.wait()
    }

    func begun() async throws {
        try await Polling.wait(for: "the event loop") { self.hasBegun.load(ordering: .acquiring) }
    }

    func release() { end.signal() }

    /// Sends a datagram.
    static func ring(_ address: SocketAddress) async throws {
        let sender = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        try await sender.writeAndFlush(AddressedEnvelope(remoteAddress: address, data: ByteBuffer(string: "x")))
        try await sender.close()
    }
}

/// Holds the event loop when a datagram arrives.
private final class HoldingHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let hold: LoopHold

    init(_ hold: LoopHold) { self.hold = hold }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { hold.hold() }
}

extension TestDirectory {
    /// The certificate and key, as a client shows them.
    func identity() throws -> Credential.TLSIdentity {
        Credential.TLSIdentity(
            certificates: try String(contentsOfFile: file("cert.pem"), encoding: .utf8),
            privateKey: try String(contentsOfFile: file("key.pem"), encoding: .utf8))
    }
}
