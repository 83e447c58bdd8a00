import HTTPTypes
import Logging
import NIOCore
import PealCore
import PealTesting
import Testing

@testable import PealAPI

/// What the server does with wrong secrets: it counts them, refuses their senders, and locks out nobody else.
@Suite("Failed authentication")
struct AuthenticationFailureTests {
    private func address(_ text: String) throws -> ClientAddress {
        try ClientAddress(SocketAddress(ipAddress: text, port: 1), [:], proxies: [])
    }

    private func attempt(_ address: String, _ secret: String, key: String? = nil) throws
        -> AuthenticationFailures.Attempt
    {
        .init(address: try self.address(address), keyName: key, shown: secret)
    }

    private func failures(_ clock: ManualTime, perMinute: Int = 6) -> AuthenticationFailures {
        AuthenticationFailures(
            perMinute: perMinute, time: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("is refused after too many failures from one address, and possible again later")
    func address() throws {
        let clock = ManualTime()
        let failures = self.failures(clock)
        for number in 0..<6 {
            let guess = try attempt("192.0.2.1", "guess \(number)")
            try failures.check(guess)
            try failures.failed(guess)
        }
        let next = try attempt("192.0.2.1", "another")
        let refusal = #expect(throws: PealError.self) { try failures.check(next) }
        #expect(refusal?.code == .rateLimited)
        #expect(refusal?.retryAfterSeconds == 10)
        #expect(throws: Never.self) { try failures.check(try attempt("192.0.2.2", "another")) }
        clock.advance(by: .seconds(10))
        #expect(throws: Never.self) { try failures.check(next) }
        #expect(failures.snapshot.failures == 6)
        #expect(failures.snapshot.refused == 1)
    }

    @Test("of one key is refused from every address, but the right secret is not")
    func key() throws {
        let clock = ManualTime()
        let failures = self.failures(clock)
        let owner = try attempt("198.51.100.7", "right", key: "editor")
        failures.succeeded(owner)
        for number in 0..<6 { try failures.failed(try attempt("192.0.2.\(number)", "guess", key: "editor")) }
        // A wrong secret from another address is refused after it was checked, and the next one before.
        let guess = try attempt("192.0.2.99", "guess", key: "editor")
        #expect(throws: Never.self) { try failures.check(guess) }
        #expect(#expect(throws: PealError.self) { try failures.failed(guess) }?.code == .rateLimited)
        #expect(throws: PealError.self) { try failures.check(guess) }
        #expect(throws: PealError.self) { try failures.check(try attempt("192.0.2.99", "right", key: "editor")) }
        // So nobody who did not guess is locked out.
        #expect(throws: Never.self) { try failures.check(try attempt("192.0.2.100", "right", key: "editor")) }
        #expect(throws: Never.self) { try failures.check(owner) }
        #expect(throws: Never.self) { try failures.check(try attempt("192.0.2.99", "x", key: "other")) }
    }

    @Test("locks out a client that has not succeeded for an hour")
    func success() throws {
        let clock = ManualTime()
        let failures = self.failures(clock)
        let owner = try attempt("192.0.2.1", "right")
        failures.succeeded(owner)
        clock.advance(by: .seconds(3599))
        for number in 0..<6 { try failures.failed(try attempt("192.0.2.1", "guess \(number)")) }
        #expect(throws: Never.self) { try failures.check(owner) }
        clock.advance(by: .seconds(1))
        #expect(throws: PealError.self) { try failures.check(owner) }
    }

    @Test("counts an IPv6 customer as one client, and a mapped IPv4 address as IPv4")
    func networks() throws {
        #expect(try address("2001:db8::1") == address("2001:db8::ffff:1"))
        #expect(try address("2001:db8::1") != address("2001:db8:0:1::1"))
        #expect(try address("::ffff:192.0.2.1") == address("192.0.2.1"))
    }

    @Test(
        "counts by X-Forwarded-For only from a trusted proxy, and only by its own entry",
        arguments: [
            ("192.0.2.1", "203.0.113.5", "192.0.2.1"),
            ("10.0.0.1", "203.0.113.5", "203.0.113.5"),
            ("10.0.0.1", "6.6.6.6, 203.0.113.5", "203.0.113.5"),
            ("10.0.0.1", "203.0.113.5, 10.0.0.2", "203.0.113.5"),
            ("10.0.0.1", "203.0.113.5:4711", "203.0.113.5"),
            ("10.0.0.1", "[2001:db8::5]:4711", "2001:db8:0:0:0:0:0:0/64"),
            ("10.0.0.1", "[2001:db8::5]", "2001:db8:0:0:0:0:0:0/64"),
            ("10.0.0.1", "nonsense", "unknown"),
            ("10.0.0.1", "203.0.113.5:1:2", "unknown"),
            ("10.0.0.1", "", "10.0.0.1"),
        ])
    func proxies(peer: String, header: String, expected: String) throws {
        var headers = HTTPFields()
        if !header.isEmpty { headers[HTTPField.Name("X-Forwarded-For")!] = header }
        let proxies = [IPAddress("10.0.0.1")!, IPAddress("10.0.0.2")!]
        #expect(
            ClientAddress(try SocketAddress(ipAddress: peer, port: 1), headers, proxies: proxies).network == expected)
    }

    @Test("is counted when a health check names a wrong admin token, and then hides the details")
    func healthCheck() async throws {
        let failures = self.failures(ManualTime(), perMinute: 3)
        let operations = FakeOperations(failure: "disk full")
        try await Fixture.open(operations: operations, failures: failures) { fixture in
            for number in 1...5 {
                let reply = try await fixture.call(.get, "/readyz", authorization: "Bearer guess\(number)")
                #expect(reply.status == 503 && !reply.text.contains("disk"))
                #expect(failures.snapshot.failures == min(number, 3))
            }
            #expect(try await !fixture.admin(.get, "/readyz").text.contains("disk"))
        }
    }

    /// A store that does not find keys and admins, because it does not respond.
    private struct UnreadableStore: WrappingStore {
        let store: any Store

        func read<R: Sendable>(
            _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
        ) async throws -> R {
            guard lane != .brief else { throw PealError(.unavailable, "no answer") }
            return try await store.read(lane, body)
        }
    }

    @Test("is not counted when the store cannot say whose token a health check names")
    func healthCheckWithoutStore() async throws {
        let failures = self.failures(ManualTime(), perMinute: 3)
        let operations = FakeOperations(failure: "no answer")
        try await Fixture.open(
            operations: operations, failures: failures, wrapping: { UnreadableStore(store: $0) }
        ) { fixture in
            for _ in 1...5 {
                let token = "\(AdminVerbs.tokenPrefix)unknown"
                let reply = try await fixture.call(.get, "/readyz", authorization: "Bearer \(token)")
                #expect(reply.status == 503 && !reply.text.contains("no answer"))
            }
            #expect(failures.snapshot.failures == 0)
            #expect(try await fixture.admin(.get, "/readyz").text.contains("no answer"))
        }
    }

    @Test("is answered with 429 and Retry-After, in every dialect's envelope")
    func overHTTP() async throws {
        let clock = ManualTime()
        try await Fixture.open(failures: failures(clock, perMinute: 3)) { fixture in
            #expect(try await fixture.admin(.get, "…").status == 200)
            let paths = [fixture.path, "/v1/push", "/push/v2/admin/task", "/v1/campaigns/cancel_message_for_user"]
            for (number, path) in (paths + paths).enumerated() {
                let basic = fixture.basic("name \(number)", "guess")
                let headers = ["/peal": "Bearer guess\(number)", "/v1/c": "Token guess\(number)"]
                let authorization = headers.first { path.hasPrefix($0.key) }?.value ?? basic
                let reply = try await fixture.call(
                    path == fixture.path ? .get : .post, path, body: path == fixture.path ? nil : "{}",
                    authorization: authorization)
                #expect(reply.status == (number < 3 ? 401 : 429), "\(path): \(reply.text)")
                if number >= 3 { #expect(reply.header("Retry-After") != nil) }
                if number < 3 { #expect(reply.text.contains(" Authorization: "), "\(reply.text)") }
            }
            #expect(try await fixture.admin(.get, "…").status == 200)
        }
    }
}
