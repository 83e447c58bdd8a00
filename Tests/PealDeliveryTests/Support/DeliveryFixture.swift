import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

/// A store with one app and its credential, a scripted push network, and a manual clock.
struct DeliveryFixture: Sendable {
    struct TooSlow: Error {}

    let test: TestStore
    private(set) var app: AppKey
    let time = ManualTime()
    let provider = ScriptedProvider()
    let randomness = SeededRandomness(seed: 11)

    var store: SQLStore { test.store }
    var now: Timestamp { time.now }
    /// What the clock showed at first.
    let start: Timestamp

    init(_ engine: StoreUnderTest = .selected, hasCredential: Bool = true) async throws {
        start = time.now
        test = try await engine.open()
        app = try await test.makeApp().key
        if hasCredential { try await putCredential() }
    }

    /// Another app in the same store, without a credential.
    func another() async throws -> DeliveryFixture {
        let id = AppID(high: 0xA, low: randomness.next())
        var other = self
        other.app = try await store.write(.control) { [now] in
            try $0.insertApp(App(id: id, key: 0, name: "Another", createdAt: now))
        }.key
        return other
    }

    /// Where the app's credential is.
    var slot: CredentialSlot { CredentialSlot(app: app, provider: .apns, environment: .production) }

    @discardableResult
    func putCredential(
        _ environment: Environment = .production, _ provider: ProviderName = .apns, keyID: String = "ABCDE12345"
    ) async throws -> CredentialRecord {
        let signing = Credential.apnsToken(
            .init(keyID: keyID, teamID: "TEAM123456", privateKey: "key", bundleID: "com.example.app"))
        let account = Credential.fcm(
            .init(projectID: "p", clientEmail: "a@b", privateKeyID: nil, privateKey: "key", tokenURI: "https://t"))
        let credential = provider == .fcm ? account : signing
        return try await store.write(.control) { [app, now] in
            try $0.putCredential(
                CredentialExamination(credential: credential, facts: .init()),
                at: CredentialSlot(app: app, provider: provider, environment: environment), now: now)
        }
    }

    static func deviceID(_ number: Int) -> DeviceID { DeviceID(high: 0xD, low: UInt64(number)) }

    static func address(_ number: Int) -> [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
    }

    func register(
        _ numbers: ClosedRange<Int>, route: Route = .apnsProduction, topics: [String] = ["news"], locale: String? = nil
    ) async throws {
        try await store.write(.control) { [app, now] session in
            for number in numbers {
                let registration = DeviceRegistration(
                    id: Self.deviceID(number), address: Address(route: route, bytes: Self.address(number)),
                    topics: topics, locale: locale)
                _ = try session.register(registration, app: app, now: now)
            }
        }
    }

    func draft(
        _ audience: Audience, options: MessageOptions = .init(), startAt: Timestamp? = nil,
        lifeSeconds: Int64 = 7200, title: LocalizedText = .plain("Hello")
    ) -> MessageDraft {
        var content = Content()
        content.title = title
        content.defaultLocale = "en"
        let life = MessageLife(options, content, start: startAt ?? now, secondsMax: lifeSeconds)
        return MessageDraft(
            id: randomness.timeOrderedIdentifier(at: now), app: app, dialect: "native", audience: audience,
            content: content, options: options, startAt: startAt, createdAt: now,
            expiresAt: life.end)
    }

    /// Stores a message as the API does; a small one is passed to `engine`.
    /// - Parameter arrival: when the head of the request arrived, by default now.
    @discardableResult
    func accept(
        _ draft: MessageDraft, engine: DeliveryService? = nil, arrival: Timestamp? = nil
    ) async throws -> MessageID {
        let (offer, now) = (engine?.leaseOffer, arrival ?? now)
        let plan = try await store.write(.intake) { session -> Plan? in
            if draft.startAt == nil { return try session.insertPlanned(draft, under: offer, now: now) }
            try session.insertMessage(draft)
            return nil
        }
        if let engine, let offer, let plan {
            engine.take(plan.leasedSlices, of: DeliveryJob(draft, pages: plan.pages), under: offer)
        }
        engine?.wake()
        return draft.id
    }

    func service(
        on other: (any Store)? = nil, providers: [ProviderName: any Provider]? = nil, isOnlyProcess: Bool = true,
        pagesInFlightMax: Int = Limits.pagesInFlightMax, time otherTime: (any TimeSource)? = nil
    ) -> DeliveryService {
        var options = DeliveryOptions()
        options.isOnlyProcess = isOnlyProcess
        options.pagesInFlightMax = pagesInFlightMax
        return DeliveryService(
            store: other ?? store, providers: providers ?? [.apns: provider], time: otherTime ?? time,
            randomness: randomness, options: options)
    }

    /// Runs `service` while `body` runs, then stops it as a signal would and waits for its end.
    func running(_ service: DeliveryService, _ body: () async throws -> Void) async throws {
        let run = Task { await service.run() }
        do { try await body() } catch {
            run.cancel()
            throw error
        }
        run.cancel()
        await run.value
    }

    func state(_ id: MessageID) async throws -> Message.State? {
        try await store.read { [app] in try $0.message(app: app, id: id)?.state }
    }

    func counts(_ id: MessageID) async throws -> OutcomeCounts {
        try await store.read { [app] in try $0.report(app: app, id: id)?.total ?? .init() }
    }

    func census() async throws -> StoreCensus { try await store.read { try $0.census() } }

    func health() async throws -> CredentialRecord.Health? {
        try await store.read { [app] in try $0.credentialRecords(app: app).first?.health }
    }

    func health(_ environment: Environment) async throws -> CredentialRecord.Health? {
        try await store.read { [app] in
            try $0.credentialRecords(app: app).first { $0.environment == environment }?.health
        }
    }

    /// The state of the app's route as stored; nil if it never closed.
    func gate() async throws -> RouteGate? { try await store.read { [app] in try $0.gates(app: app).first } }

    /// How many devices of the app can be reached.
    func deviceCount() async throws -> Int {
        try await store.read { [app] in try $0.deviceCount(app: app, route: .apnsProduction) }
    }

    /// The device as stored.
    func device(_ number: Int) async throws -> Device? {
        try await store.read { [app] in try $0.device(app: app, id: Self.deviceID(number)) }
    }

    /// The log's entries of one device, oldest first.
    func trail(_ id: MessageID, _ key: DeviceKey, route: Route = .apnsProduction) async throws -> [DeliveryLogEntry] {
        let rows = try await store.read { [app] in
            try $0.logRows(app: app, message: id, route: route, key: key, inAddresses: false)
        }
        return try rows.compactMap { try DeliveryLog.find(key, in: $0.row.data) }
    }

    /// Waits, without moving the clock, until other tasks have made `condition` true.
    func eventually(_ condition: () async throws -> Bool) async throws {
        for _ in 0..<45_000 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw TooSlow()
    }

    /// Waits until the app's route is stopped and nothing is being sent.
    func routeStops() async throws {
        try await eventually { try await health()?.isStopped ?? false }
        try await eventually { try await census().slicesLeased == 0 }
    }

    /// Waits until devices wait for another attempt and nothing is being sent.
    func devicesWait() async throws {
        try await eventually {
            let census = try await census()
            return census.slicesWaiting > 0 && census.slicesLeased == 0
        }
    }

    /// Moves the clock by `seconds`, one at a time, and lets the services react to each.
    func pass(seconds: Int) async throws {
        for _ in 0..<seconds {
            time.advance(by: .seconds(1))
            try await settle()
        }
    }

    /// Moves the clock in steps until `condition` holds. Unless `isWorkUnderWay` is set, the clock does not move while
    /// slices are worked on, because on a busy machine their leases would expire before their workers run. It never
    /// moves while a write waits for the disk. From time to time it moves a little nevertheless: with PostgreSQL, a
    /// ready slice whose row was locked is searched for again only after some time. Where something is due, the
    /// services get time to notice it: on a busy machine, hours would pass before their reads return.
    func drive(
        by step: Duration = .milliseconds(250), isWorkUnderWay: Bool = false, until condition: () async throws -> Bool
    ) async throws {
        var patience = 2000
        for round in 1...30_000 {
            if try await condition() { return }
            try await settle()
            let census = try await census()
            if isWorkUnderWay {
                time.advance(by: step)
            } else if census.slicesLeased + census.slicesReady == 0 {
                let dueAt = patience > 0 ? try await store.read { try $0.nextDueAt() } : nil
                guard let dueAt, dueAt <= time.now else {
                    time.advance(by: step)
                    continue
                }
                patience -= 1
            } else if round.isMultiple(of: 500) {
                time.advance(by: min(step, .seconds(1)))
            }
        }
        throw TooSlow()
    }

    /// Lets woken services read and write: returns after the writes that they have begun until then, however slow the
    /// disk is.
    func settle() async throws {
        for _ in 0..<2 {
            try await Task.sleep(for: .milliseconds(2))
            try await store.write(.rest) { _ in }
        }
    }

    func ended(_ id: MessageID) async throws {
        try await eventually { try await state(id)?.isFinal ?? false }
    }
}

extension Audience {
    static var all: Audience {
        var audience = Audience()
        audience.includesAll = true
        return audience
    }

    static func devices(_ numbers: ClosedRange<Int>) -> Audience {
        var audience = Audience()
        audience.devices = numbers.map(DeliveryFixture.deviceID)
        return audience
    }
}
