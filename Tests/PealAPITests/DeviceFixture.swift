import Crypto
import HTTPTypes
import PealCore
import PealTesting
import Testing

/// An app's device key, and phones that use it.
struct DeviceFixture: Sendable {
    static let base = "/peal/device/v1"

    let fixture: Fixture
    let key: String
    let sharedSecret: String

    static func open(
        _ body: @escaping @Sendable (DeviceFixture) async throws -> Void
    ) async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("device")
            try await body(
                DeviceFixture(
                    fixture: fixture, key: try #require(key["token"]?.stringValue),
                    sharedSecret: try #require(key["shared_secret"]?.stringValue)))
        }
    }

    /// A registered phone.
    struct Phone: Sendable {
        let device: String
        let token: String
    }

    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil, as bearer: String?,
        headers: [String: String] = [:]
    ) async throws -> Fixture.Reply {
        try await fixture.call(
            method, "\(Self.base)/\(path)", body: body?.text, authorization: bearer.map { "Bearer \($0)" },
            headers: headers)
    }

    static func address(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    static func registration(_ number: Int = 1, _ more: [(String, JSON?)] = []) -> JSON {
        .compact([("platform", "ios"), ("address", .string(address(number)))] + more)
    }

    func register(_ number: Int = 1, _ more: [(String, JSON?)] = []) async throws -> Fixture.Reply {
        try await call(.post, "register", Self.registration(number, more), as: key)
    }

    /// A phone with a user without a proof, because the app does not require one.
    func phone(
        _ number: Int = 1, user: String? = "ann",
        capabilities: JSON? = ["nse_ledger": true, "background": true, "alerts": true], _ more: [(String, JSON?)] = []
    ) async throws -> Phone {
        let members: [(String, JSON?)] = [
            ("user_id", user.map(JSON.string)), ("user_proof", try user.map { .string(try proof($0)) }),
            ("capabilities", capabilities),
        ]
        let reply = try await register(number, members + more)
        try #require(reply.status < 300, "\(reply.text)")
        return Phone(
            device: try #require(reply["device"]?.stringValue), token: try #require(reply["device_token"]?.stringValue))
    }

    func proof(_ user: String, more: [(String, JSON)] = [], secret: String? = nil) throws -> String {
        let payload = JSON.object(JSON.Members([("user_id", .string(user))] + more))
        let header: JSON = ["alg": "HS256"]
        let input = [header, payload].map { Base64URL.encode($0.bytes) }.joined(separator: ".")
        let bytes = try #require(Hex.decode(secret ?? sharedSecret))
        let code = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: SymmetricKey(data: bytes))
        return "\(input).\(Base64URL.encode(Array(code)))"
    }

    /// A message with a delivery window to a user. Returns its id.
    func schedule(_ user: String = "ann", seconds: Int64 = 3600, _ content: JSON? = nil) async throws -> String {
        let until = (fixture.clock.now + .seconds(seconds)).description
        let reply = try await fixture.admin(
            .post, "…/messages",
            [
                "audience": ["users": [.string(user)]], "content": content ?? ["title": "Hello", "body": "World"],
                "schedule": ["window": ["until": .string(until)]], "method": "context_aware",
                "campaign_id": "daily",
            ])
        try #require(reply.status == 202, "\(reply.text)")
        return try #require(reply["id"]?.stringValue)
    }

    func sync(_ phone: Phone, _ more: [(String, JSON)] = [], have: JSON = [:]) async throws -> Fixture.Reply {
        try await call(
            .post, "sync",
            .object(
                JSON.Members(
                    [("device", .string(phone.device)), ("have", ["models": [:], "msgs": have])] + more)),
            as: phone.token)
    }

    func claim(_ phone: Phone, _ message: String, id: Int = 1, rev: Int = 1) async throws -> Fixture.Reply {
        try await call(
            .post, "messages/\(message)/claim",
            [
                "device": .string(phone.device), "claim_id": .string(Self.id(id)), "rev": .integer(rev),
                "score": .number("0.25"),
            ], as: phone.token)
    }

    /// Takes the wake-ups that are due, and returns those of the phone.
    func wakes(of phone: Phone) async throws -> [WakeOrder] {
        let now = fixture.clock.now
        let orders = try await fixture.store.write(.rest) { store in
            try store.takeWakes(now: now, limit: 100, quiet: .none) { .zero }.orders
        }
        return orders.filter { "\($0.device.id)" == phone.device }
    }

    func event(_ number: Int, _ type: String, _ message: String?, _ more: [(String, JSON)] = []) -> JSON {
        .compact(
            [
                ("event_id", .string(Self.id(number))), ("type", .string(type)),
                ("at", .string(fixture.clock.now.description)), ("message", message.map(JSON.string)),
            ] + more.map { ($0.0, Optional($0.1)) })
    }

    static func id(_ number: Int) -> String {
        "\(Identifier<Device>(high: 0x4000, low: UInt64(number)))"
    }

    func state(_ message: String) async throws -> Moment.State? {
        let (app, id) = (fixture.app, try #require(MessageID(message)))
        return try await fixture.store.read { store in
            try store.app(app).flatMap { try store.moments(app: $0.key, message: id).first?.state }
        }
    }
}
