import Foundation
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// The attributes that an app states, and what its developer reads about the server.
extension MomentEngineTests {
    // MARK: Attributes

    @Test("sends attributes once the app has stated some")
    func attributes() async throws {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        for _ in 0..<2 {
            try await peal.setAttributes(["plan": "pro", "age": 30, "weight": 70.5, "adult": true])
        }
        try await peal.setAttributes([:])
        let stated: [String: JSONValue] = [
            "plan": .string("pro"), "age": .integer(30), "weight": .number(70.5), "adult": .bool(true),
        ]
        #expect(try registrations(exchange).map(\.attributes) == [nil, stated, [:]])
    }

    @Test(
        "accepts the attributes that the server accepts, and no others",
        arguments: [
            (.text(String(repeating: "/", count: 4088)), true), (.text(String(repeating: "é", count: 2044)), true),
            (.text("tab\tline\n"), true), (.text(String(repeating: "a", count: 4089)), false),
            (.text("\r"), false), (.text("\u{7F}"), false), (.number(.infinity), false),
        ] as [(AttributeValue, Bool)])
    func attributeLimits(value: AttributeValue, isValid: Bool) async throws {
        let peal = peal(exchange())
        do {
            try await peal.setAttributes(["a": value])
            #expect(isValid)
        } catch PealError.refused("invalid_field", _, "attributes") {
            #expect(!isValid)
        }
        #expect((ledger.now.wanted?.attributes != nil) == isValid)
    }

    // MARK: The server

    @Test("says whether the server's address and the key are right")
    func status() async throws {
        let answer = Locked<@Sendable () throws -> HTTPResponse?>({ nil })
        let exchange = exchange { _ in try answer.now() }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        #expect(await peal.status == .idle)
        answer.with { $0 = { throw URLError(.cannotFindHost) } }
        await peal.setDeviceToken(Data([1]))
        guard case .unreachable = await peal.status else {
            Issue.record("\(await peal.status)")
            return
        }
        for status in [200, 301, 404] {
            answer.with { $0 = { Self.ok("<html>Welcome to nginx!</html>", status) } }
            await peal.didBecomeActive()
            #expect(await peal.status == .notPeal(status: status))
        }
        answer.with { $0 = { Self.unauthorized } }
        await peal.didBecomeActive()
        let refusal = try #require(await peal.lastRefusal)
        #expect(await peal.status == .refused(refusal))
        answer.with { $0 = { nil } }
        await peal.didBecomeActive()
        #expect(await peal.status == .connected)
        answer.with { $0 = { HTTPResponse(503) } }
        await peal.subscribe(to: "news")
        #expect(await peal.status == .busy)
    }

    @Test("a refused registration is not forgotten because syncs succeed")
    func refusedStatus() async throws {
        let isStrict = Locked(false)
        let exchange = exchange { request in
            isStrict.now && request.url.lastPathComponent == "register" ? Self.unauthorized : nil
        }
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        isStrict.with { $0 = true }
        let next = peal(exchange, policy: FixedPolicy(isGood: false))
        await next.setDeviceToken(Data([1]))
        #expect(exchange.calls.suffix(2) == ["POST register", "POST sync"])
        let refusal = try #require(await next.lastRefusal)
        #expect(await next.status == .refused(refusal))
    }

    @Test(
        "an error says what is wrong",
        arguments: [
            (.refused(code: "forbidden", message: "it has expired", field: "user_proof"), "it has expired"),
            (.refused(code: "internal", message: nil, field: nil), "the server refused the request (internal)"),
            (.notStored, "the phone's files cannot be written now; try again later"),
        ] as [(PealError, String)])
    func errorDescription(error: PealError, text: String) {
        #expect((error as any Error).localizedDescription == text)
    }

    @Test("sends nothing to an invalid address", arguments: ["push.example.com", "ftp://example.com", "file:///"])
    func invalidAddress(text: String) async throws {
        let exchange = exchange()
        let api = HTTPDeviceAPI(server: try #require(URL(string: text)), key: "key", exchange: exchange)
        let refusal = await #expect(throws: APIFailure.self) { try await api.unregister(as: "pdt_1") }
        guard case .refused(_, "invalid_field", _, "server")? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(exchange.calls.isEmpty)
    }
}
