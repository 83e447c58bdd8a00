import Logging
import PealCore
@testable import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("The pruner")
struct PrunerTests {
    private static func devices(_ fixture: DeliveryFixture) async throws -> Int {
        try await fixture.store.read { [app = fixture.app] in try $0.deviceCount(app: app, route: nil) }
    }

    @Test("starts with the process, and continues until nothing is left")
    func start() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...400)
        let (app, now) = (fixture.app, fixture.now)
        _ = try await fixture.store.write(.control) { try $0.deleteApp(app, now: now) }
        #expect(try await Self.devices(fixture) == 400)
        try await fixture.running(fixture.service()) {
            try await fixture.drive(isWorkUnderWay: true) { try await Self.devices(fixture) == 0 }
        }
    }

    @Test("finds within a second what a request has begun")
    func poll() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...400)
        try await fixture.running(fixture.service()) {
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().messagesUnfinished == 0 }
            let (app, now) = (fixture.app, fixture.now)
            _ = try await fixture.store.write(.control) { try $0.deleteTopic(app: app, name: "news", now: now) }
            try await fixture.drive(isWorkUnderWay: true) {
                try await fixture.store.read { try !$0.hasRemainders(now: now) }
            }
        }
    }

    @Test("deletes nothing because of its age for an hour after the clock was set ahead, which may be a mistake")
    func clockSetAhead() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        let (app, draft) = (fixture.app, fixture.draft(.all))
        let isKept = { @Sendable in try await fixture.store.read { try $0.message(app: app, id: draft.id) } != nil }
        try await fixture.running(fixture.service()) {
            try await fixture.accept(draft)
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(draft.id) == .sent }
            fixture.time.setClock(by: .seconds(365 * 24 * 3600))
            let now = fixture.now
            _ = try await fixture.store.write(.control) { try $0.deleteTopic(app: app, name: "news", now: now) }
            try await fixture.drive(isWorkUnderWay: true) {
                try await fixture.store.read { try !$0.hasRemainders(now: now) }
            }
            try await fixture.pass(seconds: Int(Limits.pruneIntervalSeconds) + 10)
            #expect(try await isKept())
            fixture.time.advance(by: .seconds(3600))
            try await fixture.drive(isWorkUnderWay: true) { try await !isKept() }
        }
    }

    @Test("the clock is doubted for an hour after it was set ahead by more than an hour")
    func doubt() {
        let time = ManualTime()
        var doubt = ClockDoubt(time)
        func isDoubted(after step: Int64 = 0, _ seconds: Int64 = 0) -> Bool {
            time.setClock(by: .seconds(step))
            time.advance(by: .seconds(seconds))
            return doubt.isDoubted(time)
        }
        #expect(!isDoubted(after: 0, 86_400))
        #expect(!isDoubted(after: 3600))
        #expect(isDoubted(after: 3601))
        #expect(isDoubted(after: 0, 3599))
        #expect(!isDoubted(after: 0, 1))
        #expect(isDoubted(after: 86_400))
        #expect(isDoubted(after: -7200))
        #expect(!isDoubted(after: 0, 3600))
    }

    @Test("deletes everything else although some rows cannot be deleted, and these once they can")
    func damaged() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...400)
        let (app, kept) = (fixture.app, fixture.draft(.all))
        let isKept = { @Sendable in try await fixture.store.read { try $0.message(app: app, id: kept.id) } != nil }
        try await fixture.running(fixture.service()) {
            try await fixture.accept(kept)
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().messagesUnfinished == 0 }
        }
        try await fixture.test.execute(
            fixture.test.engine.dialect.isShared
                ? "CREATE RULE damaged AS ON DELETE TO message_content DO INSTEAD SELECT 1 / 0"
                : """
                CREATE TRIGGER damaged BEFORE DELETE ON message_content BEGIN SELECT RAISE(ABORT, 'damaged'); END
                """)
        fixture.time.advance(by: .seconds(31 * 24 * 3600))
        try await fixture.running(fixture.service()) {
            let now = fixture.now
            _ = try await fixture.store.write(.control) { try $0.deleteTopic(app: app, name: "news", now: now) }
            try await fixture.drive(isWorkUnderWay: true) {
                try await fixture.store.read { try !$0.hasRemainders(now: now) }
            }
            #expect(try await isKept())
            try await fixture.test.execute(
                fixture.test.engine.dialect.isShared
                    ? "DROP RULE damaged ON message_content" : "DROP TRIGGER damaged")
            fixture.time.advance(by: DamagedWork.pause)
            try await fixture.drive(isWorkUnderWay: true) { try await !isKept() }
        }
    }

    @Test("deletes messages although others before them cannot be read, and the log names these")
    func unreadable() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        var drafts = (0..<5).map { _ in fixture.draft(.all) }
        for index in drafts.indices { drafts[index].campaignID = "daily" }
        let (all, damaged) = (Set(drafts.map(\.id)), Set(drafts.prefix(3).map(\.id)))
        try await fixture.running(fixture.service()) {
            for draft in drafts { try await fixture.accept(draft) }
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().messagesUnfinished == 0 }
        }
        // Messages that are sent together may end in any order.
        for id in damaged {
            try await fixture.test.engine.write(.control) {
                _ = try $0.execute(
                    "UPDATE message SET counts = \([UInt8(0xFF)]), ended_at = ended_at - 1000 WHERE message = \(id)")
            }
        }
        fixture.time.advance(by: .seconds(31 * 24 * 3600))
        let log = RecordedLog()
        let service = DeliveryService(
            store: fixture.store, providers: [.apns: fixture.provider], time: fixture.time,
            randomness: fixture.randomness, logger: log.logger(.error))
        try await fixture.running(service) {
            try await fixture.drive(isWorkUnderWay: true) {
                try await fixture.test.engine.read {
                    try $0.values("SELECT message FROM message ORDER BY message", MessageID.self)
                } == damaged.sorted()
            }
        }
        let errors = log.take().map { $0.metadata["error"]?.description ?? "" }
        for id in all {
            #expect(errors.contains { $0.contains("message \(id)") } == damaged.contains(id), "\(errors)")
        }
    }

    @Test("deletes messages although more than it skips in one round cannot be read, and these once they can")
    func unreadableCampaign() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        let (app, now) = (fixture.app, fixture.now)
        var drafts = (0..<80).map { _ in fixture.draft(.all) }
        for index in drafts.indices { drafts[index].campaignID = index < 70 ? "damaged" : "sound" }
        try await fixture.store.write(.intake) { [drafts] store in
            for (index, draft) in drafts.enumerated() {
                try store.insertMessage(draft)
                let end = now + .seconds(Int64(index))
                _ = try store.moveMessage(
                    app: app, id: draft.id, from: [.scheduled, .planning, .sending], to: .cancelled, now: end)
            }
        }
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute(
                """
                INSERT INTO campaign_total \(row: [
                    "app": app, "campaign_id": "damaged", "messages": 1, "counts": [UInt8(0xFF)],
                    "receipts": [UInt8](), "pruned_at": now,
                ])
                """)
        }
        let campaigns = { @Sendable in
            try await fixture.test.engine.read {
                try $0.values("SELECT DISTINCT campaign_id FROM message ORDER BY campaign_id", String.self)
            }
        }
        fixture.time.advance(by: .seconds(31 * 24 * 3600))
        try await fixture.running(fixture.service()) {
            try await fixture.drive(by: .seconds(5), isWorkUnderWay: true) { try await campaigns() == ["damaged"] }
            _ = try await fixture.test.engine.write(.control) { try $0.execute("DELETE FROM campaign_total") }
            try await fixture.drive(by: .seconds(5), isWorkUnderWay: true) { try await campaigns() == [] }
        }
    }

    @Test("takes smaller pieces while they take long, and larger ones while they are quick")
    func pace() {
        var pace = PrunePace()
        for _ in 0..<20 { #expect(pace.pause(after: .milliseconds(2)) == .milliseconds(10)) }
        #expect(pace.rows == Limits.pruneRowsMax)
        #expect(pace.pause(after: .milliseconds(40)) == .milliseconds(80))
        #expect(pace.rows == Limits.pruneRowsMax / 2)
        for _ in 0..<20 { #expect(pace.pause(after: .seconds(9)) == .seconds(1)) }
        #expect(pace.rows == Limits.pruneRowsMin)
    }

    @Test("leaves nothing to send of an app that is deleted during a send")
    func deletedApp() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...5000)
        let service = fixture.service(pagesInFlightMax: 1)
        var audience = Audience()
        audience.topics = ["news"]
        let draft = fixture.draft(audience)
        try await fixture.running(service) {
            fixture.provider.hold()
            try await fixture.accept(draft, engine: service)
            try await fixture.drive(isWorkUnderWay: true) { fixture.provider.heldCount > 0 }
            let (app, now) = (fixture.app, fixture.now)
            _ = try await fixture.store.write(.control) { try $0.deleteApp(app, now: now) }
            service.credentialsChanged(at: fixture.slot)
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await Self.devices(fixture) == 0 }
        }
        #expect(fixture.provider.sentCount(draft.id) <= 2 * Limits.pageDevicesMax)
    }
}
