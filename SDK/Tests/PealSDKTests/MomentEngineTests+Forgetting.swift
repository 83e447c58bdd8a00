import Foundation
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Apps that ask to be forgotten: the former device is deleted, whatever happens meanwhile, before there is a new one.
extension MomentEngineTests {
    /// A server that gives every new device another token, and deletes devices while it is up.
    func deviceExchange(_ isUp: Locked<Bool> = Locked(true)) -> ScriptedExchange {
        let number = Locked(1)
        return exchange { request in
            if request.method == "DELETE" {
                guard isUp.now else { throw URLError(.notConnectedToInternet) }
                let isKnown = number.with { number in
                    guard request.headers["authorization"] == "Bearer pdt_\(number)" else { return false }
                    number += 1
                    return true
                }
                return isKnown ? HTTPResponse(204) : Self.unauthorized
            }
            guard request.url.lastPathComponent == "register" else { return nil }
            let user = try JSONDecoder().decode(Registration.self, from: request.body ?? Data()).userID
            let answer = RegistrationAnswer(
                device: "d\(number.now)", deviceToken: "pdt_\(number.now)", app: "com.x", userID: user,
                now: try #require(WireTime(Self.now)))
            return HTTPResponse(201, body: try JSONEncoder().encode(answer))
        }
    }

    private enum Later: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case address, signIn, identifiers, topic

        var testDescription: String { rawValue }
    }

    /// What the app says after it asked to be forgotten: at last the address.
    private func say(_ later: Later?, _ peal: Peal) async throws {
        switch later {
        case nil: return
        case .address: break
        case .signIn: try await peal.signIn(user: "bob", proof: "fresh")
        case .identifiers:
            var identifiers = DeviceIdentifiers()
            identifiers.idfv = "new"
            await peal.setIdentifiers(identifiers)
        case .topic: await peal.subscribe(to: "new")
        }
        await peal.setDeviceToken(Data([1]))
    }

    private func registered(_ exchange: ScriptedExchange) async throws -> Peal {
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        try await peal.signIn(user: "ann", proof: "fresh")
        await peal.subscribe(to: "old")
        var identifiers = DeviceIdentifiers()
        identifiers.idfv = "old"
        await peal.setIdentifiers(identifiers)
        await peal.setDeviceToken(Data([1]))
        #expect(await peal.device == "d1")
        return peal
    }

    /// The device was deleted before the next one was registered with only what the app said since.
    private func expectNewDevice(_ exchange: ScriptedExchange, after later: Later) throws {
        let calls = exchange.requests.now.filter { $0.method == "DELETE" || isCall($0, "POST register") }
        let (first, last) = (calls.first, calls.last)
        #expect(first.map { isCall($0, "POST register") } == true && last.map { isCall($0, "POST register") } == true)
        let between = calls.dropFirst().dropLast()
        #expect(!between.isEmpty && between.allSatisfy { $0.headers["authorization"] == "Bearer pdt_1" })
        #expect(between.allSatisfy { $0.method == "DELETE" }, "\(exchange.calls)")
        let sent = try #require(try registrations(exchange).last)
        #expect(sent.deviceToken == nil && sent.address == .text("01"))
        #expect(sent.userID == (later == .signIn ? "bob" : nil))
        #expect(sent.userProof == (later == .signIn ? "fresh" : nil))
        #expect(sent.identifiers?.idfv == (later == .identifiers ? "new" : nil))
        let topics = exchange.requests.now.filter {
            $0.method == "PUT" && $0.headers["authorization"] == "Bearer pdt_2"
        }
        #expect(topics.map(\.url.lastPathComponent) == (later == .topic ? ["new"] : []))
        #expect(ledger.now.identity?.device == "d2" && !ledger.now.isLeaving)
    }

    @Test(
        "forgets the device when there is a network again, even after a restart, whatever the app says first",
        .timeLimit(.minutes(10)), arguments: Later.allCases, [true, false])
    private func forgetLater(later: Later, isUpFirst: Bool) async throws {
        let isUp = Locked(true)
        let exchange = deviceExchange(isUp)
        let first = try await registered(exchange)
        isUp.with { $0 = false }
        await first.forgetDevice()
        #expect(ledger.now.isLeaving)
        let next = peal(exchange, policy: FixedPolicy(isGood: false))
        if !isUpFirst {
            try await say(later, next)
            #expect(try registrations(exchange).count == 1, "not before the former device is deleted")
        }
        isUp.with { $0 = true }
        if isUpFirst { try await say(later, next) } else { await next.didBecomeActive() }
        try expectNewDevice(exchange, after: later)
    }

    @Test(
        "keeps what the app says while its device is being deleted", .timeLimit(.minutes(10)),
        arguments: Later.allCases)
    private func forgetMeanwhile(later: Later) async throws {
        let exchange = deviceExchange()
        let peal = try await registered(exchange)
        let gate = hold("DELETE registration", in: exchange)
        async let forgetting: Void = peal.forgetDevice()
        await gate.arrival()
        async let saying: Void = say(later, peal)
        await until(1, waitIn: peal)
        gate.open()
        try await saying
        await forgetting
        try expectNewDevice(exchange, after: later)
        #expect(exchange.calls.filter { $0 == "DELETE registration" }.count == 1)
    }

    @Test(
        "forgets also the device whose registration is under way", .timeLimit(.minutes(10)),
        arguments: [Later.address, nil])
    private func forgetDuringRegistration(later: Later?) async throws {
        let exchange = deviceExchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        try await peal.signIn(user: "ann", proof: "fresh")
        let gate = hold("POST register", in: exchange)
        async let address: Void = peal.setDeviceToken(Data([1]))
        await gate.arrival()
        async let forgetting: Void = peal.forgetDevice()
        await until(1, waitIn: peal)
        async let saying: Void = say(later, peal)
        if later != nil { await until(2, waitIn: peal) }
        gate.open()
        await address
        await forgetting
        try await saying
        #expect(exchange.calls.contains("DELETE registration"))
        if let later { try expectNewDevice(exchange, after: later) } else { #expect(ledger.now == Ledger()) }
    }

    @Test("waits as long as the server asks before it deletes the device, and before it registers another")
    func busyForget() async throws {
        let isBusy = Locked(true)
        let devices = deviceExchange()
        let exchange = exchange { request in
            if request.method == "DELETE", isBusy.now { return HTTPResponse(503, headers: ["retry-after": "120"]) }
            return try devices.answer.now(request)
        }
        let peal = try await registered(exchange)
        await peal.forgetDevice()
        let count = exchange.calls.count
        await peal.setDeviceToken(Data([1]))
        await peal.didBecomeActive()
        #expect(exchange.calls.count == count)
        isBusy.with { $0 = false }
        clock.advance(121_000)
        await peal.didBecomeActive()
        try expectNewDevice(exchange, after: .address)
    }

    @Test("deletes the device although a page of the network answered first", arguments: [302, 403, 404])
    func captiveForget(status: Int) async throws {
        let isCaptive = Locked(true)
        let devices = deviceExchange()
        let exchange = exchange { request in
            if request.method == "DELETE", isCaptive.now {
                return HTTPResponse(status, body: Data("<html>Sign in</html>".utf8))
            }
            return try devices.answer.now(request)
        }
        let peal = try await registered(exchange)
        await peal.forgetDevice()
        #expect(ledger.now.isLeaving)
        isCaptive.with { $0 = false }
        await peal.didBecomeActive()
        #expect(ledger.now == Ledger())
    }

    @Test("keeps only what prevents a second alert until the device is deleted")
    func forgottenContent() async throws {
        let isUp = Locked(true)
        let exchange = deviceExchange(isUp)
        let peal = peal(exchange)
        try await peal.signIn(user: "ann", proof: "fresh")
        await peal.setContextSharing(true)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(presenter.state.now.alerts == [uuid(7): 1])
        isUp.with { $0 = false }
        await peal.forgetDevice()
        let stored = String(decoding: try JSONEncoder().encode(ledger.now), as: UTF8.self)
        for part in ["ann", "fresh", "offer", "\"d1\"", "com.x"] { #expect(!stored.contains(part), "\(stored)") }
        #expect(ledger.now.wanted == nil && !ledger.now.sharesContext && ledger.now.openCounts.allSatisfy { $0 == 0 })
        #expect(await !peal.receiveAlert(Push(["peal": ["message": uuid(7)]])), "a second alert")
        isUp.with { $0 = true }
        await peal.didBecomeActive()
        #expect(ledger.now == Ledger())
        #expect(exchange.calls.last == "DELETE registration", "what arrived for the former device is not reported")
    }

    @Test("deletes the device that a former version of the SDK could not delete", arguments: [true, false])
    func formerLedger(namesAddress: Bool) async throws {
        let former =
            #"{"server":"https://push.example.com","isLeaving":true,"clock":{},"pause":{"failures":0,"until":0},"#
            + #""identity":{"device":"d1","deviceToken":"pdt_1","app":"com.x","modelKeys":[]},"user":"ann","#
            + #""wanted":{"platform":"ios","address":"01","user_id":"ann","user_proof":"fresh"},"#
            + #""registered":{"platform":"ios","address":"01","user_id":"ann","user_proof":"fresh"},"#
            + #""entries":{},"outbox":[],"wakes":[],"topicChanges":{},"topics":["old"],"sharesContext":true,"#
            + #""openCounts":[0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#
        ledger.with { $0 = (try? JSONDecoder().decode(Ledger.self, from: Data(former.utf8))) ?? $0 }
        #expect(ledger.now.isLeaving && ledger.now.identity?.device == "d1")
        let exchange = deviceExchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        if namesAddress { await peal.setDeviceToken(Data([1])) } else { await peal.didBecomeActive() }
        #expect(exchange.calls.first == "DELETE registration")
        #expect(exchange.requests.now.first?.headers["authorization"] == "Bearer pdt_1")
        #expect(ledger.now.identity?.device == (namesAddress ? "d2" : nil))
        #expect(ledger.now.wanted?.userID == nil && ledger.now.topics == nil && !ledger.now.sharesContext)
    }
}
