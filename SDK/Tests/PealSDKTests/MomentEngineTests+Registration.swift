import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// The device's registration, and the server's refusals.
extension MomentEngineTests {
    private static let invalid = #"{"error":{"code":"invalid_field","message":"too long","field":"locale"}}"#
    /// What the server says of a token, or a key, that has ended.
    static let unauthorized = ok(#"{"error":{"code":"unauthorized","message":"not valid"}}"#, 401)

    private func capabilities(_ exchange: ScriptedExchange) throws -> [Bool?] {
        let registered = try registrations(exchange).map(\.capabilities?.nseLedger)
        return try registered
            + exchange.bodies("sync").map {
                try JSONDecoder().decode(SyncRequest.self, from: Data($0.utf8)).capabilities?.nseLedger
            }
    }

    // MARK: The extension

    @Test("claims a shared ledger only after the extension has marked it, without another registration")
    func unmarkedLedger() async throws {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        #expect(try capabilities(exchange) == [false, false])
        #expect(await !peal.sharesLedger)
        ledger.with { $0.markExtension() }
        _ = await peal.didReceive(push(1, sync: true))
        #expect(try capabilities(exchange) == [false, false, true])
        #expect(await peal.sharesLedger)
    }

    @Test("recognizes a second push in the app until the extension has run", arguments: [true, false])
    func presentation(hasExtension: Bool) async {
        let peal = peal(exchange(), policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let alert = Push(["peal": ["message": uuid(8)]])
        #expect(await peal.receiveAlert(alert))
        if hasExtension { ledger.with { $0.markExtension() } }
        #expect(await peal.shouldPresent(alert) == hasExtension)
    }

    @Test("an app without the group's container keeps its own ledger, and claims no other")
    func unavailableGroup() async throws {
        #expect(DeviceFolder.shared(group: "group.missing") == nil)
        let exchange = exchange()
        var configuration = PealConfiguration(
            server: try #require(URL(string: "https://push.example.com")), key: "key", group: "group.missing")
        var dependencies = PealDependencies(exchange: exchange, presenter: presenter)
        dependencies.keepsFiles = false
        await Peal(configuration, dependencies: dependencies).setDeviceToken(Data([1]))
        #expect(try capabilities(exchange) == [false, false])
        configuration.receivesAlerts = true
        await Peal(configuration, dependencies: dependencies).setDeviceToken(Data([1]))
        #expect(try capabilities(exchange).filter { $0 == true }.count == 2, "the app receives the alerts itself")
    }

    // MARK: Registering again

    @Test("registers once in each run of the app although nothing has changed, in case the server retired the device")
    func confirmation() async throws {
        let exchange = exchange()
        for run in 1...3 {
            let peal = peal(exchange, policy: FixedPolicy(isGood: false))
            for _ in 0..<2 {
                await peal.setDeviceToken(Data([1]))
                await peal.didBecomeActive()
            }
            #expect(try registrations(exchange).count == run)
        }
        #expect(try registrations(exchange).map(\.deviceToken) == [nil, "pdt_1", "pdt_1"])
    }

    @Test("registers at the next opportunity when the first attempt got no answer")
    func lostConfirmation() async throws {
        let isDown = Locked(false)
        let exchange = exchange { _ in
            if isDown.now { throw URLError(.notConnectedToInternet) }
            return nil
        }
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        let next = peal(exchange, policy: FixedPolicy(isGood: false))
        isDown.with { $0 = true }
        await next.setDeviceToken(Data([1]))
        isDown.with { $0 = false }
        for _ in 0..<2 { await next.didBecomeActive() }
        #expect(try registrations(exchange).count == 3)
        #expect(ledger.now.identity?.device == "d1")
    }

    // MARK: Refusals

    @Test("a refused registration stops neither syncs nor displays nor reports, and the app can read it")
    func refusedChange() async throws {
        let isStrict = Locked(false)
        let exchange = exchange { request in
            isStrict.now && request.url.lastPathComponent == "register" ? Self.ok(Self.invalid, 400) : nil
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        #expect(await peal.lastRefusal == nil)
        isStrict.with { $0 = true }
        var identifiers = DeviceIdentifiers()
        identifiers.idfv = "v"
        await peal.setIdentifiers(identifiers)
        let refusal = PealError.refused(code: "invalid_field", message: "too long", field: "locale")
        #expect(await peal.lastRefusal == refusal)
        await peal.subscribe(to: "news")
        #expect(ledger.now.topicChanges.isEmpty)
        #expect(await peal.didReceive(push(1, sync: true)) == .newData)
        #expect(presenter.state.now.alerts == [uuid(7): 1])
        #expect(exchange.bodies("events").last?.contains("shown") == true && ledger.now.outbox.isEmpty)
        isStrict.with { $0 = false }
        await peal.didBecomeActive()
        #expect(await peal.lastRefusal == nil && !ledger.now.needsRegistration)
    }

    @Test("a device that never registered does nothing after a refusal, and says why")
    func refusedDevice() async throws {
        let exchange = exchange { $0.url.lastPathComponent == "register" ? Self.ok(Self.invalid, 400) : nil }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        #expect(await peal.didReceive(push(1)) == .failed)
        #expect(Set(exchange.calls) == ["POST register"])
        #expect(await peal.lastRefusal != nil)
        await #expect(throws: PealError.self) { try await peal.signIn(user: "ann", proof: "fresh") }
    }

    @Test("an app whose key is not valid can read that")
    func invalidKey() async {
        let exchange = exchange { $0.url.lastPathComponent == "register" ? Self.unauthorized : nil }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        guard case .refused("unauthorized", _, _) = await peal.lastRefusal else {
            Issue.record("no refusal")
            return
        }
    }

    @Test("a device keeps its token while the app's key is not valid, and registers again when it is")
    func invalidKeyLater() async throws {
        let isValid = Locked(true)
        let exchange = exchange { request in
            isValid.now || request.url.lastPathComponent != "register" ? nil : Self.unauthorized
        }
        await peal(exchange, policy: FixedPolicy(isGood: false)).setDeviceToken(Data([1]))
        isValid.with { $0 = false }
        let next = peal(exchange)
        await next.setDeviceToken(Data([1]))
        var identifiers = DeviceIdentifiers()
        identifiers.idfv = "v"
        await next.setIdentifiers(identifiers)
        #expect(await next.device == "d1")
        #expect(await next.didReceive(push(1, sync: true)) == .newData, "the token is as valid as before")
        #expect(presenter.state.now.alerts == [uuid(7): 1])
        guard case .refused("unauthorized", _, _) = await next.lastRefusal else {
            Issue.record("no refusal")
            return
        }
        isValid.with { $0 = true }
        await next.didBecomeActive()
        #expect(await next.lastRefusal == nil && !ledger.now.needsRegistration)
        #expect(try registrations(exchange).last?.deviceToken == "pdt_1")
    }

    @Test("a device keeps its token when a proxy or a login page answers for the server", arguments: [200, 401, 403])
    func proxy(status: Int) async throws {
        let isBetween = Locked(false)
        let exchange = exchange { _ in isBetween.now ? Self.ok("<html>Authorization Required</html>", status) : nil }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        isBetween.with { $0 = true }
        #expect(await peal.didReceive(push(1, sync: true)) == .failed)
        await peal.forgetDevice()
        #expect(ledger.now.isLeaving, "no server has deleted the device")
        isBetween.with { $0 = false }
        await peal.didBecomeActive()
        #expect(try registrations(exchange).count == 1 && ledger.now == Ledger())
        #expect(exchange.requests.now.last?.headers["authorization"] == "Bearer pdt_1")
    }

    @Test("a topic that the server refuses costs neither the device nor the other topics", arguments: [true, false])
    func refusedTopic(isFirst: Bool) async throws {
        let exchange = exchange { request in
            request.url.lastPathComponent == "bad"
                ? Self.ok(#"{"error":{"code":"invalid_field","field":"topic"}}"#, 400) : nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        if !isFirst { await peal.setDeviceToken(Data([1])) }
        for topic in ["a", "bad", "c"] { await peal.subscribe(to: topic) }
        await peal.setDeviceToken(Data([1]))
        #expect(await peal.device == "d1")
        #expect(Set(["PUT a", "PUT bad", "PUT c"]).isSubset(of: exchange.calls))
        #expect(ledger.now.topics == ["a", "c"] && ledger.now.topicChanges.isEmpty)
    }

    @Test("a topic is sent once a day, however often the app starts")
    func repeatedTopic() async {
        let exchange = exchange()
        var app = peal(exchange, policy: FixedPolicy(isGood: false))
        func changes() -> [String] { exchange.calls.filter { $0.hasSuffix("news") } }
        for _ in 0..<3 {
            app = peal(exchange, policy: FixedPolicy(isGood: false))
            await app.setDeviceToken(Data([1]))
            await app.subscribe(to: "news")
        }
        #expect(changes() == ["PUT news"])
        clock.advance(86_400_001)
        for _ in 0..<2 { await app.subscribe(to: "news") }
        #expect(changes() == ["PUT news", "PUT news"])
        await app.unsubscribe(from: "news")
        await app.subscribe(to: "news")
        #expect(changes() == ["PUT news", "PUT news", "DELETE news", "PUT news"])
        #expect(ledger.now.topics == ["news"])
    }

    @Test("a sync that is refused can be read by the app; a claim that is refused is nothing to repair")
    func refusedSync() async {
        let path = Locked("claim")
        let exchange = exchange { request in
            request.url.lastPathComponent == path.now ? Self.ok(Self.invalid, 404) : nil
        }
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        _ = await peal.didGetBackgroundTime()
        #expect(await peal.lastRefusal == nil && exchange.calls.contains("POST claim"))
        path.with { $0 = "sync" }
        await peal.didBecomeActive()
        #expect(await peal.lastRefusal != nil)
    }

    // MARK: Time in the background

    @Test("keeps the app running during a wake, and releases it afterwards", arguments: [true, false])
    func backgroundTime(isPush: Bool) async {
        let steps = Locked<[String]>([])
        let exchange = exchange { request in
            steps.with { $0.append(request.url.lastPathComponent) }
            return nil
        }
        let peal = peal(
            exchange,
            hold: { _ in
                steps.with { $0.append("hold") }
                return { steps.with { $0.append("release") } }
            })
        await peal.setDeviceToken(Data([1]))
        steps.with { $0 = [] }
        if isPush { _ = await peal.didReceive(push(1)) } else { _ = await peal.didGetBackgroundTime() }
        #expect(steps.now == ["hold", "claim", "events", "release"])
    }

    @Test("keeps the app running while the SDK reports what the app said, even if that fails")
    func timeToSend() async throws {
        let steps = Locked<[String]>([])
        let isDown = Locked(false)
        let exchange = exchange { request in
            steps.with { $0.append(request.url.lastPathComponent) }
            return isDown.now ? Self.ok("", 503) : nil
        }
        let peal = peal(
            exchange, policy: FixedPolicy(isGood: false),
            hold: { _ in
                steps.with { $0.append("hold") }
                return { steps.with { $0.append("release") } }
            })
        func isHeld(_ body: () async throws -> Void) async rethrows -> Bool {
            steps.with { $0 = [] }
            try await body()
            return steps.now.count > 2 && steps.now.first == "hold" && steps.now.last == "release"
        }
        #expect(await isHeld { await peal.setDeviceToken(Data([1])) })
        #expect(try await isHeld { try await peal.signIn(user: "ann", proof: "p") })
        #expect(await isHeld { await peal.didBecomeActive() })
        #expect(await isHeld { await peal.subscribe(to: "news") })
        #expect(await isHeld { await peal.forgetDevice() })
        #expect(steps.now == ["hold", "registration", "release"])
        isDown.with { $0 = true }
        #expect(await isHeld { await peal.setDeviceToken(Data([2])) })
    }

    @Test("ends what it sends when the system takes the time back", .timeLimit(.minutes(10)), arguments: [true, false])
    func expiredSending(isSignIn: Bool) async throws {
        let expiry = Locked<@Sendable () -> Void>({})
        let isReleased = Locked(false)
        let answered = Locked(0)
        let exchange = exchange { _ in
            answered.with { $0 += 1 }
            return nil
        }
        let peal = peal(
            exchange, policy: FixedPolicy(isGood: false),
            hold: { expire in
                expiry.with { $0 = expire }
                return { isReleased.with { $0 = true } }
            })
        await peal.setDeviceToken(Data([1]))
        isReleased.with { $0 = false }
        let before = answered.now
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        exchange.delay.with {
            $0 = { _ in
                arrival.yield()
                try? await Task.sleep(nanoseconds: 60_000_000_000)
            }
        }
        async let said: Void = isSignIn ? peal.signIn(user: "ann", proof: "p") : peal.subscribe(to: "news")
        for await _ in arrivals { break }
        expiry.now()
        // The server learns of it later.
        try await said
        #expect(isReleased.now && answered.now == before)
    }

    @Test("ends a wake when the system takes the time back, and continues it at the next", .timeLimit(.minutes(10)))
    func expiredTime() async {
        let expiry = Locked<@Sendable () -> Void>({})
        let isReleased = Locked(false)
        let exchange = exchange()
        let peal = peal(
            exchange,
            hold: { expire in
                expiry.with { $0 = expire }
                return { isReleased.with { $0 = true } }
            })
        await peal.setDeviceToken(Data([1]))
        isReleased.with { $0 = false }
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        exchange.delay.with {
            $0 = { _ in
                arrival.yield()
                try? await Task.sleep(nanoseconds: 60_000_000_000)
            }
        }
        async let outcome = peal.didGetBackgroundTime()
        for await _ in arrivals { break }
        expiry.now()
        #expect(await outcome == .failed)
        #expect(isReleased.now)
        exchange.delay.with { $0 = { _ in } }
        #expect(await peal.didGetBackgroundTime() == .newData)
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }
}
