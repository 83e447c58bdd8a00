import Foundation
import PealMoments
import PealWire
import Testing

@testable import PealDevice
@testable import PealSDK

/// Holds the first task that comes back until the test opens it.
struct Gate: Sendable {
    private let arrivals = AsyncStream<Void>.makeStream()
    private let signs = AsyncStream<Void>.makeStream()
    private let isFirst = Locked(true)

    func hold() async {
        guard isFirst.take() else { return }
        arrivals.continuation.yield()
        for await _ in signs.stream { break }
    }

    func arrival() async { for await _ in arrivals.stream { break } }
    func open() { signs.continuation.finish() }
}

extension Locked where Value == Bool {
    /// Whether it is still true; from then on it is false.
    fileprivate func take() -> Bool {
        with { flag in
            defer { flag = false }
            return flag
        }
    }
}

/// Remembers what was fetched.
private struct CountedImages: ImageStore {
    let fetched = Locked<[String]>([])

    func fetch(_ url: String, for message: String) async { fetched.with { $0.append(message) } }
    func file(for message: String) -> URL? { nil }
    func remove(_ message: String) {}
    func keep(only messages: Set<String>) {}
    func removeAll() { fetched.with { $0 = [] } }
}

/// Calls of the app during a request, whose answer must not undo them.
extension MomentEngineTests {
    func isCall(_ request: HTTPRequest, _ call: String) -> Bool {
        "\(request.method) \(request.url.lastPathComponent)" == call
    }

    /// Holds the first call of this kind back.
    func hold(_ call: String, in exchange: ScriptedExchange) -> Gate {
        let gate = Gate()
        exchange.delay.with {
            $0 = { request in if self.isCall(request, call) { await gate.hold() } }
        }
        return gate
    }

    func registrations(_ exchange: ScriptedExchange) throws -> [Registration] {
        try exchange.bodies("register").map { try JSONDecoder().decode(Registration.self, from: Data($0.utf8)) }
    }

    /// Waits until as many calls of the app wait for the one whose request is held back.
    func until(_ count: Int, waitIn peal: Peal) async {
        let end = Date() + 60
        while await peal.engine.turns.waiting.count < count, Date() < end {
            try? await Task.sleep(nanoseconds: 1_000_000)
        }
        #expect(await peal.engine.turns.waiting.count == count)
    }

    // MARK: Signing in

    /// Refuses proofs except `fresh`, and names what it refuses.
    private func strictExchange() -> ScriptedExchange {
        exchange { request in
            guard request.url.lastPathComponent == "register", let body = request.body else { return nil }
            let proof = try JSONDecoder().decode(Registration.self, from: body).userProof
            guard let proof, proof != "fresh" else { return nil }
            return Self.ok(#"{"error":{"code":"forbidden","message":"\#(proof)","field":"user_proof"}}"#, 403)
        }
    }

    private func refusal(_ proof: String) -> PealError {
        .refused(code: "forbidden", message: proof, field: "user_proof")
    }

    /// The refusal that a sign-in threw.
    private func outcome(_ peal: Peal, _ user: String, _ proof: String) async -> PealError? {
        do {
            try await peal.signIn(user: user, proof: proof)
            return nil
        } catch { return error as? PealError }
    }

    @Test(
        "a sign-in that arrives before an older proof is refused is registered, and has its own result",
        .timeLimit(.minutes(10)),
        arguments: [("ann", "fresh", true), ("bob", "fresh", true), ("ann", "old", false), ("bob", "bad", false)])
    func signInDuringRefusal(user: String, proof: String, isAccepted: Bool) async throws {
        let exchange = strictExchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        try await peal.signIn(user: "ann", proof: "old")
        let gate = hold("POST register", in: exchange)
        async let address: Void = peal.setDeviceToken(Data([1]))
        await gate.arrival()
        async let signing = outcome(peal, user, proof)
        await until(1, waitIn: peal)
        gate.open()
        #expect(await signing == (isAccepted ? nil : refusal(proof)))
        await address
        await peal.didBecomeActive()
        #expect(ledger.now.wanted?.userID == (isAccepted ? user : nil))
        let last = try #require(try registrations(exchange).last)
        #expect(last.userID == (isAccepted ? user : nil) && last.userProof == (isAccepted ? proof : nil))
        #expect(!ledger.now.needsRegistration && !ledger.now.isBetweenUsers)
    }

    @Test("of two sign-ins that wait, the refused one is reported to its own caller", .timeLimit(.minutes(10)))
    func twoSignIns() async throws {
        let exchange = strictExchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        let gate = hold("POST sync", in: exchange)
        async let opening: Void = peal.didBecomeActive()
        await gate.arrival()
        async let first = outcome(peal, "ann", "bad1")
        await until(1, waitIn: peal)
        async let second = outcome(peal, "bob", "bad2")
        await until(2, waitIn: peal)
        gate.open()
        // Nobody asked the server about the first: the second had replaced it.
        #expect(await first == nil)
        #expect(await second == refusal("bad2"))
        await opening
        #expect(ledger.now.wanted?.userID == nil)
        #expect(await outcome(peal, "bob", "fresh") == nil, "an earlier refusal is not reported again")
        #expect(ledger.now.wanted?.userID == "bob")
    }

    // MARK: The permission

    @Test("registers with the present permission, and does not register again when that changes")
    func permission() async throws {
        let exchange = exchange()
        let zone = Locked("Europe/Vienna")
        ledger.with { $0.markExtension() }
        let peal = peal(
            exchange, policy: FixedPolicy(isGood: false),
            describe: {
                var description = DeviceDescription()
                description.timeZone = zone.now
                return description
            })
        var expected: [Capabilities] = []
        for (number, (alerts, summary)) in [(true, true), (false, false), (true, false)].enumerated() {
            presenter.state.with {
                $0.permission = NotificationPermission(allowsAlerts: alerts, isSummarized: summary)
            }
            let capabilities = Capabilities(
                nseLedger: true, background: true, alerts: alerts, scheduledSummary: summary)
            await peal.setDeviceToken(Data([1]))
            await peal.didBecomeActive()
            if number > 0 {
                #expect(try registrations(exchange).count == number, "the permission alone is no reason")
                zone.with { $0 = "Zone/\(number)" }
                await peal.didBecomeActive()
            }
            expected.append(capabilities)
            #expect(try registrations(exchange).map(\.capabilities) == expected)
            let sync = try #require(exchange.bodies("sync").last)
            let request = try JSONDecoder().decode(SyncRequest.self, from: Data(sync.utf8))
            #expect(request.capabilities == capabilities, "a sync says the same")
        }
    }

    @Test(
        "claims nothing while it may not show a message at once, so that another device can, and continues afterwards",
        arguments: [
            NotificationPermission(allowsAlerts: false), NotificationPermission(allowsAlerts: true, isSummarized: true),
        ])
    func changedPermission(permission: NotificationPermission) async {
        let exchange = exchange()
        let peal = peal(exchange)
        await peal.setDeviceToken(Data([1]))
        presenter.state.with { $0.permission = permission }
        #expect(await peal.didReceive(push(1)) == .noData)
        #expect(!exchange.calls.contains("POST claim") && ledger.now[uuid(7)]?.stage == .held)
        presenter.state.with { $0.permission = NotificationPermission(allowsAlerts: true) }
        #expect(await peal.didReceive(push(2)) == .newData)
        #expect(presenter.state.now.alerts == [uuid(7): 1])
    }

    @Test(
        "who signs in while the system is asked for the permission is in the first registration",
        .timeLimit(.minutes(10)))
    func signInDuringPermission() async throws {
        let exchange = exchange()
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        let gate = Gate()
        presenter.delay.with { $0 = { await gate.hold() } }
        async let address: Void = peal.setDeviceToken(Data([1]))
        await gate.arrival()
        async let signing: Void = peal.signIn(user: "ann", proof: "fresh")
        await until(1, waitIn: peal)
        gate.open()
        try await signing
        await address
        #expect(try registrations(exchange).map(\.userID) == ["ann"])
    }

    // MARK: Showing

    private enum Wait: String, CaseIterable, Sendable {
        case sensors, claim, permission
    }

    @Test(
        "shows nothing to the person who signed out, or was forgotten, while its moment was considered",
        .timeLimit(.minutes(10)), arguments: Wait.allCases, [true, false])
    private func signOutDuringWake(wait: Wait, isForgotten: Bool) async throws {
        let exchange = deviceExchange()
        let quiet = peal(exchange, policy: FixedPolicy(isGood: false))
        try await quiet.signIn(user: "ann", proof: "fresh")
        await quiet.setDeviceToken(Data([1]))
        #expect(ledger.now.entries(in: .held).count == 1)
        let gate = wait == .claim ? hold("POST claim", in: exchange) : Gate()
        if wait == .permission {
            // The permission that is read for the display, after the claim.
            presenter.delay.with { $0 = { if exchange.calls.contains("POST claim") { await gate.hold() } } }
        }
        let sensors = SimulatedSensors(delay: { if wait == .sensors { await gate.hold() } })
        let peal = peal(exchange, sensors: sensors)
        async let waking = peal.didReceive(push(1))
        await gate.arrival()
        async let leaving: Void = isForgotten ? peal.forgetDevice() : peal.signOut()
        await until(1, waitIn: peal)
        gate.open()
        _ = await waking
        try await leaving
        #expect(presenter.state.now.displayed.isEmpty)
        #expect(exchange.calls.contains("POST claim") == (wait != .sensors), "nothing is claimed for nobody")
        await peal.didBecomeActive()
        #expect(presenter.state.now.displayed.isEmpty)
    }

    @Test("fetches no image of a message that it does not take", .timeLimit(.minutes(10)), arguments: [true, false])
    func imageOfFormerUser(signsOut: Bool) async throws {
        let images = CountedImages()
        let illustrated =
            #"{"now":"\#(Self.now)","messages":[{"id":"\#(uuid(9))","rev":1,"start":"2026-01-25T02:00:00Z","#
            + #""fallback_at":"2026-01-25T05:00:00Z","content":{"body":"B","image_url":"https://e.com/a.png"}}]}"#
        let isFirst = Locked(true)
        let exchange = exchange { request in
            guard request.url.lastPathComponent == "sync" else { return nil }
            return Self.ok(isFirst.take() ? illustrated : #"{"now":"\#(Self.now)"}"#)
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false), images: images)
        let gate = hold("POST sync", in: exchange)
        async let address: Void = peal.setDeviceToken(Data([1]))
        await gate.arrival()
        async let signing: Void = signsOut ? peal.signIn(user: "bob", proof: "fresh") : ()
        if signsOut { await until(1, waitIn: peal) }
        gate.open()
        await address
        try await signing
        #expect(images.fetched.now == (signsOut ? [] : [uuid(9)]))
        await peal.forgetDevice()
        #expect(images.fetched.now == [], "the images are deleted with the device")
    }

    // MARK: Context sharing

    @Test("sends no context that waited while the person stopped sharing it", .timeLimit(.minutes(10)))
    func stopSharingDuringSync() async throws {
        let isDown = Locked(false)
        let exchange = exchange { _ in
            if isDown.now { throw URLError(.notConnectedToInternet) }
            return nil
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        isDown.with { $0 = true }
        await peal.setContextSharing(true)
        await peal.didBecomeActive()
        #expect(ledger.now.outbox.map(\.type) == [.appOpened])
        isDown.with { $0 = false }
        let before = exchange.requests.now.count
        let gate = Gate()
        presenter.delay.with { $0 = { await gate.hold() } }
        async let waking = peal.didReceive(push(1, sync: true))
        await gate.arrival()
        await peal.setContextSharing(false)
        gate.open()
        _ = await waking
        let sent = exchange.requests.now[before...].map { String(decoding: $0.body ?? Data(), as: UTF8.self) }
        #expect(!sent.isEmpty && !sent.contains { $0.contains("app_opened") }, "\(sent)")
    }

    @Test("sends no context of a refused batch after the person stopped sharing it", .timeLimit(.minutes(10)))
    func stopSharingDuringRefusal() async throws {
        let exchange = exchange { request in
            let events = try? JSONDecoder().decode([DeviceEvent].self, from: request.body ?? Data())
            guard request.url.lastPathComponent == "events", (events?.count ?? 0) > 1 else { return nil }
            return Self.ok(#"{"error":{"code":"invalid_field"}}"#, 400)
        }
        let peal = peal(exchange, policy: FixedPolicy(isGood: false))
        await peal.setDeviceToken(Data([1]))
        await peal.setContextSharing(true)
        // Events that are older than an hour would go with a sync.
        ledger.with { $0.report(DeviceEvent(eventID: uuid(1), type: .appOpened, at: $0.clock.now(clock.reading))) }
        await peal.didOpen(content: "c")
        let gate = hold("POST events", in: exchange)
        async let waking = peal.didGetBackgroundTime()
        await gate.arrival()
        await peal.setContextSharing(false)
        gate.open()
        _ = await waking
        let single = exchange.bodies("events").dropFirst()
        #expect(single.count == 1 && single.allSatisfy { $0.contains("content_opened") }, "\(single)")
        #expect(ledger.now.outbox == [])
    }
}
