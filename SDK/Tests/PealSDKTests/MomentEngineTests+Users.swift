import Foundation
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Who the device belongs to: people who sign in, and tokens that end.
extension MomentEngineTests {
    @Test("what the app says before there is a device token is sent with it")
    func earlySignIn() async throws {
        let exchange = exchange()
        let peal = peal(exchange)
        var identifiers = DeviceIdentifiers()
        identifiers.idfv = "v"
        await peal.setIdentifiers(identifiers)
        try await peal.signIn(user: "ann", proof: "signed")
        await peal.subscribe(to: "news")
        #expect(exchange.calls.isEmpty)
        await peal.setDeviceToken(Data([0xAB]))
        let body = try #require(exchange.bodies("register").first)
        for part in [#""user_id":"ann""#, #""user_proof":"signed""#, #""idfv":"v""#, #""address":"ab""#] {
            #expect(body.contains(part), "\(body)")
        }
        #expect(exchange.calls == ["POST register", "PUT news", "POST sync"])
    }

    @Test("who signs in while a sync is under way is registered before the call returns")
    func busySignIn() async throws {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let (signs, sign) = AsyncStream<Void>.makeStream()
        let isFirst = Locked(true)
        exchange.delay.with {
            $0 = { request in
                guard request.url.lastPathComponent == "sync",
                    isFirst.with({ flag in
                        defer { flag = false }
                        return flag
                    })
                else { return }
                arrival.yield()
                for await _ in signs { break }
            }
        }
        async let opening: Void = peal.didBecomeActive()
        for await _ in arrivals { break }
        async let signing: Void = peal.signIn(user: "ann", proof: "signed")
        await until(1, waitIn: peal)
        #expect(exchange.bodies("register").count == 1)
        sign.yield()
        try await signing
        #expect(exchange.bodies("register").last?.contains(#""user_id":"ann""#) == true, "\(exchange.calls)")
        await opening
    }

    @Test("continues without a user whose proof is refused, and says so")
    func refusedProof() async throws {
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "register",
                String(decoding: request.body ?? Data(), as: UTF8.self).contains("mallory")
            else { return nil }
            return Self.ok(#"{"error":{"code":"forbidden","message":"wrong","field":"user_proof"}}"#, 403)
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        await #expect(throws: PealError.refused(code: "forbidden", message: "wrong", field: "user_proof")) {
            try await peal.signIn(user: "mallory", proof: "x")
        }
        #expect(ledger.now.wanted?.userID == nil)
    }

    @Test("shows nothing of the previous user while the server does not know the next one")
    func betweenUsers() async throws {
        let isDown = Locked(false)
        let exchange = exchange { request in
            if isDown.now { throw URLError(.notConnectedToInternet) }
            return request.url.lastPathComponent == "register"
                ? Self.ok(Self.registration.replacingOccurrences(of: "\"user_id\":\"ann\",", with: "")) : nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        #expect(ledger.now.entries(in: .held).count == 1)
        isDown.with { $0 = true }
        try await peal.signIn(user: "bob", proof: "p")
        let good = self.peal(exchange)
        _ = await good.didReceive(push(1))
        isDown.with { $0 = false }
        #expect(presenter.state.now.displayed.isEmpty)
        #expect(exchange.calls.last == "POST register")
    }

    @Test("registers again when its token has ended, and leaves the topics of the device to the server")
    func endedToken() async throws {
        let ended = Locked(false)
        let exchange = exchange { request in
            if ended.now, request.headers["authorization"] == "Bearer pdt_1", request.url.lastPathComponent == "sync" {
                ended.with { $0 = false }
                return Self.unauthorized
            }
            return nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        await peal.subscribe(to: "news & more/ü")
        #expect(exchange.requests.now.last?.url.absoluteString.hasSuffix("/topics/news%20%26%20more%2F%C3%BC") == true)
        ended.with { $0 = true }
        _ = await peal.didReceive(push(1, sync: true))
        #expect(try registrations(exchange).map(\.topics) == [nil, nil], "a list would replace the backend's topics")
        #expect(exchange.calls.suffix(2) == ["POST register", "POST sync"])
    }

    @Test("subscribes a new device to the topics of one that the server deleted", arguments: [true, false])
    func deletedDevice(startsAgain: Bool) async throws {
        let device = Locked(1)
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "register" else {
                return request.headers["authorization"] == "Bearer pdt_\(device.now)" ? nil : Self.unauthorized
            }
            let answer = RegistrationAnswer(
                device: "d\(device.now)", deviceToken: "pdt_\(device.now)", app: "com.x", userID: nil,
                now: try #require(WireTime(Self.now)))
            return HTTPResponse(201, body: try JSONEncoder().encode(answer))
        }
        let first = peal(exchange, policy: FixedPolicy(isGood: false))
        await first.setDeviceToken(Data([1]))
        for topic in ["news", "chess", "sport"] { await first.subscribe(to: topic) }
        await first.unsubscribe(from: "chess")
        device.with { $0 = 2 }
        let before = exchange.calls.count
        if startsAgain {
            // The registration at the start of the app is the first call with the token that has ended.
            await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        } else {
            _ = await first.didReceive(push(1, sync: true))
        }
        let calls = exchange.calls.dropFirst(before).drop { $0 == "POST sync" }
        #expect(calls == ["POST register", "PUT news", "PUT sport", "POST sync"])
        #expect(try registrations(exchange).allSatisfy { $0.topics == nil })
    }
}
