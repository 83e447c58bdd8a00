import Crypto
import Foundation
import Logging
import PealCore
import PealMoments
import PealStore
import PealTesting
import Testing

@testable import PealLearning

/// People with phones that share their context, on a real store.
private struct People {
    let test: TestStore
    let app: AppKey
    let time = ManualTime()
    let randomness = SeededRandomness(seed: 7)
    let count: Int

    var store: SQLStore { test.store }
    var service: LearningService { LearningService(store: store, time: time, logger: Logger(label: "test")) }

    init(_ engine: StoreUnderTest, _ count: Int = 100) async throws {
        test = try await engine.open()
        app = try await test.makeApp().key
        self.count = count
        let (app, now) = (app, time.now)
        try await store.write(.control) { store in
            for number in 0..<count {
                let address = Address(
                    route: .apnsProduction, bytes: [1, UInt8(number)] + [UInt8](repeating: 7, count: 30))
                _ = try store.register(
                    DeviceRegistration(
                        id: DeviceID(high: 0xD, low: UInt64(number)), address: address, userID: "u\(number)",
                        topics: nil, isInteractive: true), app: app, now: now)
            }
        }
    }

    /// A message to everybody. Returns how phones shall choose its moment.
    @discardableResult
    func schedule(_ campaign: String? = "daily", hours: Int64 = 4) async throws -> (
        id: MessageID, modes: Set<Exploration>
    ) {
        var audience = Audience()
        audience.users = (0..<count).map { "u\($0)" }
        audience.platforms = [.ios]
        var content = Content()
        content.title = .plain("Title")
        var draft = MessageDraft(
            id: randomness.timeOrderedIdentifier(at: time.now), app: app, dialect: "native", audience: audience,
            content: content, options: .init(), startAt: nil, createdAt: time.now,
            expiresAt: time.now + .seconds(8 * 86_400))
        draft.campaignID = campaign
        draft.window = DeliveryWindow(until: time.now + .seconds(hours * 3600), method: .contextAware)
        let (app, made) = (app, draft)
        let modes = try await store.write(.intake) { store in
            try store.insertMessage(made)
            return try store.moments(app: app, message: made.id).map(\.exploration)
        }
        return (draft.id, Set(modes))
    }

    /// Everybody's phone shows the message now; who has it unlocked often opens it.
    func show(_ message: MessageID, seed: UInt64, shares: Bool = true, isOpened: Bool = true) async throws {
        let (app, now) = (app, time.now)
        try await store.write(.intake) { store in
            var dice = Dice(state: seed)
            for moment in try store.moments(app: app, message: message) {
                guard
                    let device = try store.devices(app: app, DeviceFilter(userID: moment.userID), after: 0, limit: 1)
                        .first
                else { continue }
                let number = UInt64(device.key)
                let claim = MomentClaim(
                    id: ClaimID(high: number, low: message.low),
                    target: .init(device: device.key, route: .apnsProduction),
                    rev: 1, hasLedger: true, score: 0.1)
                _ = try store.apply(.claim(claim), to: moment, now: now)
                let unlocked = dice.unit() < 0.4
                var shown = DeviceEvent(
                    id: .init(high: number, low: message.low), kind: .shown, message: message, at: now)
                if shares { shown.shared.snapshot = MadeLabels.snapshot(unlocked: unlocked, at: now) }
                var events = [shown]
                if dice.unit() < (unlocked ? 0.5 : 0.05), isOpened {
                    events.append(
                        DeviceEvent(
                            id: .init(high: number, low: message.low ^ 1), kind: .opened, message: message,
                            at: now + .seconds(600)))
                }
                _ = try MomentReader(store: store, device: device, app: app).record(
                    events, in: store, now: now + .seconds(700))
            }
        }
    }

    /// Messages that are shown, a few hours apart.
    func live(_ campaign: String = "daily", messages: Int = 6, isOpened: Bool = true) async throws {
        for number in 0..<messages {
            let message = try await schedule(campaign).id
            time.advance(by: .seconds(3600))
            try await show(message, seed: UInt64(number) + 1, isOpened: isOpened)
            time.advance(by: .seconds(2 * 3600))
        }
    }

    func release(_ campaign: String, version: Int64? = nil) async throws -> ModelRelease? {
        try await store.read { [app] in try $0.modelRelease(app: app, campaign: campaign, version: version) }
    }
}

@Suite("Learning service")
struct LearningServiceTests {
    @Test("what phones report becomes a signed model a day later", arguments: StoreUnderTest.allCases)
    func wholeWay(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine)
        try await people.live()
        #expect(try await people.service.learn(people.app).isEmpty, "no label has matured")
        people.time.advance(by: .seconds(86_400))
        let released = try await people.service.learn(people.app)
        #expect(released.map(\.draft.campaign) == ["daily", ""])
        let release = try #require(try await people.release("daily"))
        #expect(release == released.first && release.draft.labels == 600)
        let keys = try await people.store.read { [app = people.app] in try $0.modelKeys(app: app) }
        let key = try Curve25519.Signing.PublicKey(rawRepresentation: try #require(keys.first).publicKey)
        let file = try ModelFile(bytes: release.json.bytes)
        let model = try file.model { id, payload, signature in
            id == keys[0].id && key.isValidSignature(signature, for: payload)
        }
        #expect(model.campaign == "daily" && release.json.bytes.count <= ModelFile.bytesMax)
        #expect(try await people.service.learn(people.app).isEmpty, "there is nothing new")
        let learning = try await people.store.read { [app = people.app] in
            try $0.learning(app: app, campaign: "daily")
        }
        #expect(learning?.displays == 600 && learning?.hasOwnModel == true && (learning?.opens ?? 0) > 80)
    }

    @Test("a campaign is watched across the models that replace each other", arguments: StoreUnderTest.allCases)
    func watch(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine)
        func learn() async throws -> (isReleased: Bool, hasDrifted: Bool?) {
            let released = try await people.service.learn(people.app)
            let learning = try await people.store.read { [app = people.app] in
                try $0.learning(app: app, campaign: "daily")
            }
            return (released.contains { $0.draft.campaign == "daily" }, learning?.hasDrifted)
        }
        try await people.live()
        people.time.advance(by: .seconds(86_400))
        let first = try await learn()
        #expect(first.isReleased && first.hasDrifted == false)
        try await people.live(messages: 3, isOpened: false)
        people.time.advance(by: .seconds(15 * 3600))
        let second = try await learn()
        #expect(second.isReleased && second.hasDrifted == false, "nothing that was shown since has matured")
        people.time.advance(by: .seconds(9 * 3600))
        #expect(try await learn().hasDrifted == true)
    }

    @Test(
        "a first campaign calibrates at random moments until enough is known, unless no user shares a context",
        arguments: StoreUnderTest.allCases)
    func phases(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine)
        let first = try await people.schedule()
        #expect(first.modes == [.greedy], "nobody has shared a context yet")
        try await people.show(first.id, seed: 1, shares: false)
        #expect(try await people.schedule().modes == [.greedy])
        let shared = try await people.schedule()
        try await people.show(shared.id, seed: 2)
        #expect(try await people.schedule().modes == [.uniform])
        #expect(try await people.schedule(nil).modes == [.greedy], "without a campaign nothing is learnt")
        try await people.live(messages: 5)
        people.time.advance(by: .seconds(90_000))
        _ = try await people.service.learn(people.app)
        #expect(try await people.schedule().modes.contains(.greedy), "a hundred opens are known")
        #expect(try await people.schedule("other").modes.contains(.greedy), "there is a model of all campaigns")
        #expect(try await people.schedule("other", hours: 9).modes == [.uniform], "its hours may differ")
        #expect(try await people.schedule("daily", hours: 9).modes.contains(.greedy), "600 displays are known")
    }

    @Test(
        "an earlier model returns as a new version, and no training replaces it for a week",
        arguments: StoreUnderTest.allCases)
    func rollback(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine)
        try await people.live()
        people.time.advance(by: .seconds(90_000))
        _ = try await people.service.learn(people.app)
        let first = try #require(try await people.release("daily"))
        try await people.live(messages: 3)
        people.time.advance(by: .seconds(90_000))
        _ = try await people.service.learn(people.app)
        let second = try #require(try await people.release("daily"))
        #expect(second.draft.version > first.draft.version)
        let verbs = ModelVerbs(store: people.store)
        let call = VerbCall(actor: "test", now: people.time.now)
        _ = try await verbs.rollBack("daily", to: nil, app: people.app, call) { release, _ in
            Reply(status: 200, release.json)
        }
        let third = try #require(try await people.release("daily"))
        let (old, new) = (try #require(first.model), try #require(third.model))
        #expect(new.weights == old.weights && new.table == old.table && new.template == old.template)
        #expect(new.version > Int(second.draft.version) && third.draft.parent == "daily@\(first.draft.version)")
        #expect(third.json.bytes.count <= first.json.bytes.count, "a long name would make it too large for phones")
        #expect(new.expires == (people.time.now + .seconds(60 * 86_400)).milliseconds)
        try await people.live(messages: 3)
        people.time.advance(by: .seconds(90_000))
        _ = try await people.service.learn(people.app)
        #expect(try await people.release("daily") == third)
        people.time.advance(by: .seconds(Limits.modelHoldSeconds))
        _ = try await people.service.learn(people.app)
        #expect(try await people.release("daily") != third)
        await #expect(throws: PealError.self) {
            _ = try await verbs.rollBack("none", to: nil, app: people.app, call) { _, _ in Reply(status: 200, [:]) }
        }
    }

    @Test(
        "after a rollback, a campaign has its own model unless it got the weights of all campaigns again",
        arguments: StoreUnderTest.allCases)
    func ownAgain(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine, 1)
        let (app, now) = (people.app, people.time.now)
        for (version, labels) in [(1, 500), (2, 0)] as [(Int64, Int)] {
            let draft = ModelRelease.Draft(
                campaign: "daily", version: version, trainedAt: now, expiresAt: now + .seconds(86_400), parent: nil,
                labels: labels, payload: Array("{}".utf8))
            _ = try await people.store.write(.control) { try $0.issueModel(draft, app: app, now: now) }
        }
        let verbs = ModelVerbs(store: people.store)
        for (version, isOwn) in [(1, true), (2, false)] as [(Int64, Bool)] {
            let call = VerbCall(actor: "test", now: now)
            _ = try await verbs.rollBack("daily", to: version, app: app, call) { release, _ in
                Reply(status: 200, release.json)
            }
            let learning = try await people.store.read { try $0.learning(app: app, campaign: "daily") }
            #expect(learning?.hasOwnModel == isOwn)
        }
    }

    @Test(
        "labels name no person, and are deleted with their device, with their user and after thirty days",
        arguments: StoreUnderTest.allCases)
    func privacy(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine, 10)
        try await people.live(messages: 1)
        people.time.advance(by: .seconds(90_000))
        func labels() async throws -> [MomentLabel] {
            let now = people.time.now
            return try await people.store.read { [app = people.app] in
                try $0.labels(app: app, after: nil, limit: 100, now: now).items
            }
        }
        #expect(try await labels().count == 10)
        let names = Mirror(reflecting: try #require(try await labels().first)).children.compactMap(\.label)
        #expect(Set(names) == ["campaign", "snapshot", "exploration", "shownAt", "isOpened"])
        let (app, now) = (people.app, people.time.now)
        try await people.store.write(.control) {
            _ = try $0.deleteDevice(app: app, id: DeviceID(high: 0xD, low: 3), now: now)
            _ = try $0.deleteUser(app: app, userID: "u4", now: now)
        }
        _ = try await people.store.write(.rest) { try $0.prune(now: now, limit: 1000) }
        #expect(try await labels().count == 8)
        people.time.advance(by: .seconds(Limits.contextSampleSeconds))
        let later = people.time.now
        try await Polling.repeat("pruning") {
            try await people.store.write(.rest) { try $0.prune(now: later, limit: 1000) } > 0
        }
        #expect(try await labels().isEmpty)
    }

    @Test(
        "soft messages are read with their wakes, whoever showed them, if the phone can report both",
        arguments: StoreUnderTest.allCases)
    func journeys(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine)
        try await people.live()
        people.time.advance(by: .seconds(86_400))
        try await people.service.learn(people.app)
        let message = try await people.schedule().id
        let (app, now) = (people.app, people.time.now)
        let trace = MadeLabels.trace(unlocked: true, at: now) + MadeLabels.trace(unlocked: false, at: now)
        try await people.store.write(.intake) { store in
            for moment in try store.moments(app: app, message: message) {
                guard
                    let device = try store.devices(app: app, DeviceFilter(userID: moment.userID), after: 0, limit: 1)
                        .first
                else { continue }
                let number = UInt64(device.key)
                let (hasLedger, claims) = (number % 4 != 0, number % 2 == 1)
                try store.putInstallation(
                    Installation(
                        app: app, device: device.key, tokenHash: Array(repeating: UInt8(number), count: 32),
                        key: KeyID(high: 1, low: 1),
                        capabilities: hasLedger ? [.ledger, .background, .alerts] : [.background, .alerts],
                        seenAt: now))
                if claims {
                    let claim = MomentClaim(
                        id: ClaimID(high: number, low: 77), target: .init(device: device.key, route: .apnsProduction),
                        rev: 1, hasLedger: hasLedger, score: 0.1)
                    _ = try store.apply(.claim(claim), to: moment, now: now)
                }
            }
        }
        people.time.advance(by: .seconds(4 * 3600))
        let expected = try await people.store.write(.intake) { [end = people.time.now] store -> [String: Int] in
            // The server shows the others.
            _ = try store.fireDueMoments(now: end, limit: 1000)
            var counts: [String: Int] = [:]
            for moment in try store.moments(app: app, message: message) {
                guard let key = moment.device, let device = try store.device(app: app, key: key) else { continue }
                let number = UInt64(key)
                let (hasLedger, claims) = (number % 4 != 0, number % 2 == 1)
                var shown = DeviceEvent(id: .init(high: number, low: 78), kind: .shown, message: message, at: now)
                shown.shared.trace = trace
                var events = [shown]
                if number % 3 == 0 {
                    events.append(
                        DeviceEvent(id: .init(high: number, low: 79), kind: .opened, message: message, at: now))
                }
                _ = try MomentReader(store: store, device: device, app: app).record(events, in: store, now: end)
                guard moment.exploration == .soft, hasLedger else { continue }
                counts["all", default: 0] += 1
                counts["phone", default: 0] += claims ? 1 : 0
                counts["opened", default: 0] += number % 3 == 0 ? 1 : 0
            }
            return counts
        }
        people.time.advance(by: .seconds(90_000))
        let later = people.time.now
        let found = try await people.store.read {
            try $0.journeys(app: app, after: nil, limit: 1000, now: later).items
        }
        #expect(found.count == expected["all"] && found.count > 4, "\(expected)")
        #expect(found.count { $0.isShownByPhone } == expected["phone"])
        #expect(found.count { $0.isOpened } == expected["opened"])
        #expect(found.allSatisfy { $0.campaign == "daily" && $0.windowMinutes == 240 && $0.trace == trace })
        let names = Mirror(reflecting: try #require(found.first)).children.compactMap(\.label)
        #expect(!names.contains { $0.contains("user") || $0.contains("device") })
        let pages = try await people.store.read { store in
            let first = try store.journeys(app: app, after: nil, limit: 3, now: later)
            return first.items + (try store.journeys(app: app, after: first.next, limit: 1000, now: later)).items
        }
        #expect(pages == found)
    }

    @Test("pages of labels leave nothing out", arguments: StoreUnderTest.allCases)
    func pages(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine, 30)
        try await people.live(messages: 3)
        people.time.advance(by: .seconds(90_000))
        let (app, now) = (people.app, people.time.now)
        let all = try await people.store.read { try $0.labels(app: app, after: nil, limit: 1000, now: now) }
        #expect(all.items.count == 90 && all.next == nil)
        var (found, cursor): ([MomentLabel], ContextCursor?) = ([], nil)
        repeat {
            let page = try await people.store.read { [cursor] in
                try $0.labels(app: app, after: cursor, limit: 7, now: now)
            }
            found += page.items
            cursor = page.next
        } while cursor != nil
        #expect(found == all.items)
    }

    @Test("of two servers, one looks at an app's labels in an hour", arguments: StoreUnderTest.allCases)
    func turns(_ engine: StoreUnderTest) async throws {
        let people = try await People(engine, 1)
        let app = people.app
        func begins() async throws -> Bool {
            let now = people.time.now
            return try await people.store.write(.rest) { try $0.beginLearning(app: app, now: now) }
        }
        #expect(try await begins())
        #expect(try await !begins())
        people.time.advance(by: .seconds(Limits.learningIntervalSeconds))
        #expect(try await begins())
        people.time.setClock(by: .seconds(-86_400))
        #expect(try await begins(), "that was before the clock was set back")
        #expect(try await !begins())
    }
}
