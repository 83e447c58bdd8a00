import PealCore
import PealStore
import PealTesting

/// A store with one app, and shortcuts for what most tests need.
struct Fixture: Sendable {
    let test: TestStore
    let app: AppKey
    let randomness = SeededRandomness(seed: 7)
    let time = ManualTime()

    var store: SQLStore { test.store }
    var now: Timestamp { time.now }

    init(_ engine: StoreUnderTest) async throws {
        test = try await engine.open()
        app = try await test.makeApp().key
    }

    init(_ test: TestStore, app: AppKey) {
        self.test = test
        self.app = app
    }

    func reopened() async throws -> Fixture { Fixture(try await test.reopened(), app: app) }

    /// Prunes until nothing is left to do now. Returns the rows of each piece.
    @discardableResult
    func pruneAll(limit: Int = 1000) async throws -> [Int] {
        var pieces: [Int] = []
        repeat {
            pieces.append(
                try await store.write(.rest) { [now] in try $0.prune(now: now, limit: limit) })
        } while pieces.last != 0
        return pieces.dropLast()
    }

    static func address(_ number: Int, _ route: Route = .apnsProduction) -> Address {
        let text = "address-\(number)"
        return Address(route: route, bytes: Array(text.utf8) + Array(repeating: 0xAB, count: 32 - text.utf8.count))
    }

    static func deviceID(_ number: Int) -> DeviceID { DeviceID(high: 0xD, low: UInt64(number)) }

    static func registration(
        _ number: Int, route: Route = .apnsProduction, address: Address? = nil, user: String? = nil,
        topics: [String]? = nil, interactive: Bool = true
    ) -> DeviceRegistration {
        DeviceRegistration(
            id: deviceID(number), address: address ?? Self.address(number, route), userID: user, topics: topics,
            isInteractive: interactive)
    }

    @discardableResult
    func register(
        _ number: Int, route: Route = .apnsProduction, address: Address? = nil, user: String? = nil,
        topics: [String]? = nil, interactive: Bool = true, identifiers: [String: String] = [:]
    ) async throws -> DeviceRegistration.Result {
        var registration = Self.registration(
            number, route: route, address: address, user: user, topics: topics, interactive: interactive)
        registration.detail.identifiers = identifiers
        return try await register(registration)
    }

    /// Registers a device with the SDK, whose app is used some seconds later.
    func install(_ number: Int, user: String, after seconds: Int64 = 0) async throws {
        let device = try await register(number, user: user).device
        let installation = Installation(
            app: app, device: device.key, tokenHash: [UInt8](repeating: UInt8(number), count: 32),
            key: KeyID(high: 1, low: UInt64(number)), capabilities: [.ledger], sdkVersion: "1.0.0",
            seenAt: now + .seconds(seconds))
        try await store.write(.intake) { try $0.putInstallation(installation) }
    }

    @discardableResult
    func register(_ registration: DeviceRegistration) async throws -> DeviceRegistration.Result {
        try await store.write(.control) { [app, now] in try $0.register(registration, app: app, now: now) }
    }

    /// Registers devices `numbers` in one transaction.
    func registerMany(_ numbers: ClosedRange<Int>, route: Route = .apnsProduction, topics: [String]? = nil) async throws
    {
        try await store.write(.control) { [app, now] session in
            for number in numbers {
                _ = try session.register(
                    Self.registration(number, route: route, topics: topics), app: app, now: now)
            }
        }
    }

    func draft(
        _ audience: Audience, options: MessageOptions = .init(), startAt: Timestamp? = nil, lifeSeconds: Int64 = 3600
    ) -> MessageDraft {
        var content = Content()
        content.title = .plain("Title")
        return MessageDraft(
            id: randomness.timeOrderedIdentifier(at: now), app: app, dialect: "native", audience: audience,
            content: content, options: options, startAt: startAt, createdAt: now,
            expiresAt: now + .seconds(lifeSeconds))
    }

    /// Stores a message and plans it, as an immediate send does.
    func send(
        _ audience: Audience, options: MessageOptions = .init(), lifeSeconds: Int64 = 3600, owner: String? = nil
    ) async throws -> (id: MessageID, plan: Plan) {
        let draft = draft(audience, options: options, lifeSeconds: lifeSeconds)
        let offer = owner.map {
            LeaseOffer(
                owner: $0, interruptions: 0, leaseUntil: now + .seconds(Limits.leaseSeconds), madeAt: time.uptime)
        }
        let plan = try await store.write(.intake) { [now] in try $0.insertPlanned(draft, under: offer, now: now) }
        return (draft.id, plan)
    }

    func state(_ id: MessageID) async throws -> Message.State? {
        try await store.read { [app] in try $0.message(app: app, id: id)?.state }
    }

    func dueWebhooks() async throws -> [WebhookReference] {
        try await store.read { [now] in try $0.dueWebhooks(now: now) }
    }

    func lease(_ route: Route = .apnsProduction, limit: Int = 100, owner: String = "me") async throws -> [Slice] {
        try await store.write(.control) { [app, now] in
            try $0.lease(
                ActiveRoute(app: app, route: route), limit: limit, owner: owner, until: now + .seconds(30), now: now)
        }
    }
}

extension Audience {
    static var all: Audience {
        var audience = Audience()
        audience.includesAll = true
        return audience
    }

    static func topics(_ topics: String...) -> Audience {
        var audience = Audience()
        audience.topics = topics
        return audience
    }

    static func users(_ users: String...) -> Audience {
        var audience = Audience()
        audience.users = users
        return audience
    }

    static func devices(_ numbers: Int...) -> Audience {
        var audience = Audience()
        audience.devices = numbers.map(Fixture.deviceID)
        return audience
    }
}

extension MomentVerbs {
    func schedule(_ draft: MessageDraft) async throws -> Result {
        try await schedule(draft, VerbCall(actor: "test", now: draft.createdAt))
    }
}
