import Foundation
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// A server that knows one device, whose fields a backend may also set.
private final class StatementServer: Sendable {
    struct State {
        var attributes: [String: JSONValue]?
        var identifiers: DeviceIdentifiers?
        var userID: String?
        /// The device's current token; nil once it has ended.
        var deviceToken: String?
        var devices = 1
        var tokens = 0
        var losesRequests = false
        var losesAnswers = false
    }

    let state = Locked(State())

    func answer(_ request: HTTPRequest) throws -> HTTPResponse {
        try state.with { state in
            if state.losesRequests { throw URLError(.notConnectedToInternet) }
            let response = try Self.response(to: request, &state)
            if state.losesAnswers { throw URLError(.networkConnectionLost) }
            return response
        }
    }

    private static func response(to request: HTTPRequest, _ state: inout State) throws -> HTTPResponse {
        if request.url.lastPathComponent == "register" {
            let given = try JSONDecoder().decode(Registration.self, from: request.body ?? Data())
            return HTTPResponse(200, body: try JSONEncoder().encode(register(given, &state)))
        }
        guard let token = state.deviceToken, request.headers["authorization"] == "Bearer \(token)" else {
            return MomentEngineTests.unauthorized
        }
        return MomentEngineTests.ok(#"{"now":"\#(MomentEngineTests.now)"}"#)
    }

    /// As docs/api/device.md says what a registration changes.
    private static func register(_ given: Registration, _ state: inout State) throws -> RegistrationAnswer {
        if let token = given.deviceToken, token == state.deviceToken {
            state.attributes = given.attributes ?? state.attributes
            state.identifiers = given.identifiers ?? state.identifiers
            if given.userID != nil || given.keepsUser != true { state.userID = given.userID }
        } else {
            state.tokens += 1
            state.deviceToken = "pdt_\(state.tokens)"
            (state.attributes, state.identifiers, state.userID) = (given.attributes, given.identifiers, given.userID)
        }
        return RegistrationAnswer(
            device: "d\(state.devices)", deviceToken: state.deviceToken ?? "", app: "com.x", userID: state.userID,
            now: try #require(WireTime(MomentEngineTests.now)))
    }
}

/// What an app states about its device, next to what a backend sets, and how often that is sent.
extension MomentEngineTests {
    private func idfv(_ text: String) -> DeviceIdentifiers {
        var identifiers = DeviceIdentifiers()
        identifiers.idfv = text
        return identifiers
    }

    // MARK: Statements

    @Test("a start of the app states only what the server does not know")
    func statedOnce() async throws {
        let exchange = exchange()
        for _ in 0..<2 {
            let peal = peal(exchange, policy: FixedPolicy(isGood: false))
            await peal.setDeviceToken(Data([1]))
            try await peal.setAttributes(["plan": "pro"])
            await peal.setIdentifiers(idfv("v"))
        }
        let sent = try registrations(exchange)
        #expect(sent.map(\.attributes) == [nil, ["plan": .string("pro")], nil, nil])
        #expect(sent.map(\.identifiers) == [nil, nil, idfv("v"), nil])
        #expect(sent.map(\.keepsUser) == [nil, true, true, true], "without a token there is nothing to keep")
    }

    @Test("an app that signs out removes a user that a backend set, and shows nothing to it meanwhile")
    func signOutOfBackendsUser() async throws {
        let isDown = Locked(false)
        let exchange = exchange { _ in
            if isDown.now { throw URLError(.notConnectedToInternet) }
            return nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        #expect(ledger.now.user == "ann" && ledger.now.entries(in: .held).count == 1)
        isDown.with { $0 = true }
        try await peal.signOut()
        #expect(ledger.now.isBetweenUsers)
        isDown.with { $0 = false }
        await peal.didBecomeActive()
        let last = try #require(try registrations(exchange).last)
        #expect(last.userID == nil && last.keepsUser == nil && !ledger.now.isBetweenUsers)
    }

    @Test("takes back a sign-in whose answer was lost", arguments: [nil, "ann"])
    func lostSignIn(former: String?) async throws {
        let server = StatementServer()
        let exchange = exchange(server.answer)
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        if let former { try await peal.signIn(user: former, proof: "p") }
        await peal.setDeviceToken(Data([1]))
        server.state.with { $0.losesAnswers = true }
        try await peal.signIn(user: "bob", proof: "p")
        #expect(server.state.now.userID == "bob")
        if let former { try await peal.signIn(user: former, proof: "p") } else { try await peal.signOut() }
        #expect(ledger.now.isBetweenUsers, "the server may send messages to bob")
        server.state.with { $0.losesAnswers = false }
        _ = await peal.didGetBackgroundTime()
        #expect(server.state.now.userID == former && !ledger.now.isBetweenUsers)
    }

    @Test("what a backend set survives a sign-in whose answer was lost")
    func lostSignInKeepsStatements() async throws {
        let server = StatementServer()
        let exchange = exchange(server.answer)
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        try await peal.setAttributes(["plan": "pro"])
        await peal.setIdentifiers(idfv("v"))
        await peal.setDeviceToken(Data([1]))
        server.state.with { state in
            state.attributes = ["plan": .string("free")]
            state.identifiers?.devtodevID = "7"
            state.losesAnswers = true
        }
        try await peal.signIn(user: "ann", proof: "p")
        server.state.with { $0.losesAnswers = false }
        await peal.didBecomeActive()
        let known = server.state.now
        #expect(known.userID == "ann" && !ledger.now.needsRegistration)
        #expect(known.attributes == ["plan": .string("free")] && known.identifiers?.devtodevID == "7")
    }

    @Test("states everything again to a server that does not accept its token", arguments: [true, false])
    func endedTokenAtStart(isDeleted: Bool) async throws {
        let server = StatementServer()
        let exchange = exchange(server.answer)
        let first = peal(exchange, policy: FixedPolicy(isGood: false))
        try await first.setAttributes(["plan": "pro"])
        await first.setIdentifiers(idfv("v"))
        await first.setDeviceToken(Data([1]))
        server.state.with { state in
            (state.deviceToken, state.attributes) = (nil, nil)
            if isDeleted { state.devices += 1 }
        }
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        #expect(server.state.now.attributes == ["plan": .string("pro")] && server.state.now.identifiers == idfv("v"))
        #expect(try registrations(exchange).count == 3 && !ledger.now.needsRegistration)
    }

    /// What the device should have in the end.
    private struct Expectation {
        var attributes: [String: JSONValue]?
        var identifiers: DeviceIdentifiers?
        var userID: String?
        var saidAttributes: [String: JSONValue]?
        var saidIdentifiers: DeviceIdentifiers?
        var statesUser = false

        /// The token ended: what a backend set is lost.
        mutating func loseBackend() {
            (attributes, identifiers) = (saidAttributes, saidIdentifiers)
            if !statesUser { userID = nil }
        }
    }

    @Test("an app and its backend never undo what the other said last", arguments: 0..<UInt64(200))
    func statements(seed: UInt64) async throws {
        var dice = Dice(state: seed)
        let server = StatementServer()
        let exchange = exchange(server.answer)
        func start() async -> Peal {
            let started = self.peal(exchange, policy: FixedPolicy(isGood: false))
            await started.setDeviceToken(Data([1]))
            await started.didBecomeActive()
            return started
        }
        var expected = Expectation()
        var peal = await start()
        for _ in 0..<40 {
            let value = "v\(dice.below(3))"
            switch dice.below(11) {
            case 0:
                try await peal.setAttributes(["a": .text(value)])
                if expected.saidAttributes != ["a": .string(value)] {
                    expected.saidAttributes = ["a": .string(value)]
                    expected.attributes = expected.saidAttributes
                }
            case 1:
                await peal.setIdentifiers(idfv(value))
                if expected.saidIdentifiers != idfv(value) {
                    expected.saidIdentifiers = idfv(value)
                    expected.identifiers = expected.saidIdentifiers
                }
            case 2:
                try await peal.signIn(user: value, proof: "p")
                (expected.userID, expected.statesUser) = (value, true)
            case 3:
                try await peal.signOut()
                (expected.userID, expected.statesUser) = (nil, true)
            case 4...6:
                // While the app has something to say, either order is right.
                let known = server.state.now.deviceToken
                guard known == ledger.now.identity?.deviceToken, !ledger.now.needsRegistration else { continue }
                backend(sets: value, dice.below(3), server, &expected)
            case 7:
                let kind = dice.below(4)
                server.state.with { ($0.losesRequests, $0.losesAnswers) = (kind == 0, kind == 1) }
            case 8:
                server.state.with { state in
                    state.deviceToken = nil
                    if dice.below(2) == 0 { state.devices += 1 }
                }
                expected.loseBackend()
            case 9: peal = await start()
            default: await peal.didBecomeActive()
            }
        }
        server.state.with { ($0.losesRequests, $0.losesAnswers) = (false, false) }
        _ = await start()
        let known = server.state.now
        #expect(known.attributes == expected.attributes && known.identifiers == expected.identifiers)
        #expect(known.userID == expected.userID && !ledger.now.needsRegistration && !ledger.now.isBetweenUsers)
    }

    private func backend(sets value: String, _ field: Int, _ server: StatementServer, _ expected: inout Expectation) {
        switch field {
        case 0:
            server.state.with { $0.attributes = ["b": .string(value)] }
            expected.attributes = ["b": .string(value)]
        case 1:
            server.state.with { $0.identifiers?.devtodevID = value }
            expected.identifiers = server.state.now.identifiers
        default:
            server.state.with { $0.userID = value }
            // The app decides about the user once it has said anything about it.
            if !expected.statesUser { expected.userID = value }
        }
    }

    // MARK: How often

    @Test("a launch syncs once, in whatever order the system calls the app", arguments: [true, false])
    func oneSync(tokenComesFirst: Bool) async throws {
        let exchange = exchange()
        try await peal(exchange, policy: FixedPolicy(isGood: false)).signIn(user: "ann", proof: "p")
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        let before = exchange.bodies("sync").count
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        let gate = hold(tokenComesFirst ? "POST register" : "POST sync", in: exchange)
        async let first: Void = tokenComesFirst ? peal.setDeviceToken(Data([1])) : peal.didBecomeActive()
        await gate.arrival()
        async let second: Void = tokenComesFirst ? peal.didBecomeActive() : peal.setDeviceToken(Data([1]))
        async let third: Void = peal.signIn(user: "ann", proof: "fresh")
        await until(2, waitIn: peal)
        gate.open()
        await first
        await second
        try await third
        #expect(exchange.bodies("sync").count == before + 1, "\(exchange.calls)")
        await peal.didBecomeActive()
        #expect(exchange.bodies("sync").count == before + 2, "the person opened the app again")
    }

    @Test("a change of the user or the address is followed by a sync")
    func syncAfterChange() async throws {
        let exchange = exchange(StatementServer().answer)
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        try await peal.signIn(user: "ann", proof: "p")
        await peal.setDeviceToken(Data([2]))
        #expect(exchange.calls == [[String]](repeating: ["POST register", "POST sync"], count: 3).flatMap { $0 })
    }

    @Test("a wake-up that starts the app does not register or sync, until the person opens it or a day has passed")
    func backgroundStart() async throws {
        let exchange = exchange()
        func start(isInBackground: Bool) async throws -> Peal {
            let started = peal(exchange, policy: FixedPolicy(isGood: false), isInBackground: { isInBackground })
            try await started.signIn(user: "ann", proof: "p")
            await started.setDeviceToken(Data([1]))
            return started
        }
        func wake() async throws -> Peal {
            let woken = try await start(isInBackground: true)
            _ = await woken.didReceive(push(1))
            return woken
        }
        _ = try await start(isInBackground: false)
        let calls = exchange.calls.count
        let woken = try await wake()
        #expect(exchange.calls.count == calls)
        await woken.didBecomeActive()
        #expect(exchange.calls.dropFirst(calls) == ["POST register", "POST sync"])
        clock.advance(86_400_001)
        _ = try await wake()
        #expect(exchange.calls.filter { $0 == "POST register" }.count == 3)
        let fresh = peal(exchange, policy: FixedPolicy(isGood: false), isInBackground: { true })
        await fresh.setDeviceToken(Data([2]))
        #expect(exchange.calls.filter { $0 == "POST register" }.count == 4, "an address that changed is news")
    }
}
