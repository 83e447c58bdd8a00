import Logging
import PealCore
import PealStore
import PealTesting
import Synchronization
import Testing

@testable import PealDelivery

@Suite("Rows that cannot be read", .timeLimit(.minutes(10)))
struct DamagedWorkTests {
    @Test("a slice is quarantined, so that others of its route are sent, and continues once it is repaired")
    func slice() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        let damaged = try await fixture.accept(fixture.draft(.all))
        let good = try await fixture.accept(fixture.draft(.all))
        let counts = try await fixture.test.engine.read {
            try $0.value("SELECT counts FROM slice WHERE message = \(damaged)", [UInt8].self)
        }
        try await fixture.change("UPDATE slice SET counts = \([UInt8(0xFF)]) WHERE message = \(damaged)")
        let log = RecordedLog()
        let service = fixture.service(log)
        try await fixture.running(service) {
            try await fixture.drive { try await fixture.state(good) == .sent }
            #expect(try await fixture.census().slicesQuarantined == 1)
            #expect(try await fixture.counts(damaged).reasons["quarantined"] ?? 0 > 0)
            let (listed, loads) = try await fixture.store.read { [app = fixture.app] in
                try ($0.quarantinedSlices(limit: 9), $0.routeLoads(app: app))
            }
            #expect(listed.map(\.message) == [damaged] && loads[.apnsProduction]?.pending == 10)
            try await fixture.pass(seconds: 20)
            #expect(service.metrics.snapshot.slicesQuarantined == 1)
            #expect(log.take("message", where: "quarantined") == ["\(damaged)"])
            try await fixture.change("UPDATE slice SET counts = \(counts) WHERE message = \(damaged)")
            try await fixture.move(damaged, from: [.sending], to: .paused)
            try await fixture.move(damaged, from: [.paused], to: .sending)
            service.interrupt(damaged)
            try await fixture.drive { try await fixture.state(damaged) == .sent }
            #expect(try await fixture.counts(damaged) == .accepted(10))
        }
    }

    @Test(
        "a slice with impossible numbers is quarantined",
        arguments: [
            "key_to = -1", "key_to = 9223372036854775807", "key_to = 9007199254740992",
            "key_from = -9223372036854775808",
            "cursor = 9223372036854775807", "attempt = 9223372036854775807", "pages = 9223372036854775807",
            "estimate = 9223372036854775807", "doubt = 9223372036854775807", "term = 9223372036854775806",
        ])
    func impossible(change: String) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        let damaged = try await fixture.accept(fixture.draft(.all))
        let good = try await fixture.accept(fixture.draft(.all))
        try await fixture.change("UPDATE slice SET \(name: change) WHERE message = \(damaged)")
        try await fixture.running(fixture.service()) {
            try await fixture.drive { try await fixture.state(good) == .sent }
            #expect(try await fixture.census().slicesQuarantined == 1)
            #expect(try await fixture.counts(damaged).reasons["quarantined"] ?? 0 > 0)
            let (listed, loads) = try await fixture.store.read { [app = fixture.app] in
                try ($0.quarantinedSlices(limit: 9), $0.routeLoads(app: app))
            }
            #expect(listed.map(\.message) == [damaged] && loads[.apnsProduction]?.pending ?? 0 > 0)
        }
    }

    @Test("slices of a network that this program does not know stop no others")
    func unknownRoute() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        let unknown = try await fixture.accept(fixture.draft(.all))
        let good = try await fixture.accept(fixture.draft(.all))
        let retried = try await fixture.accept(fixture.draft(.all))
        try await fixture.change("UPDATE slice SET route = 0, state = 0, ready_at = 1 WHERE message = \(unknown)")
        try await fixture.change("UPDATE slice SET state = 0, ready_at = 2 WHERE message = \(retried)")
        let service = fixture.service()
        try await fixture.running(service) {
            for id in [good, retried] {
                try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            }
            try await fixture.move(unknown, from: [.sending], to: .cancelled)
            #expect(try await fixture.state(unknown) == .cancelled)
            let loads = try await fixture.store.read { [app = fixture.app] in try $0.routeLoads(app: app) }
            #expect(loads.isEmpty)
        }
    }

    @Test("a moment is set aside and reported once, and is sent once it is repaired")
    func moment() async throws {
        let fixture = try await DeliveryFixture()
        var drafts: [MessageDraft] = []
        for (number, user) in ["ann", "ben"].enumerated() {
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
                let registration = DeviceRegistration(
                    id: DeliveryFixture.deviceID(number),
                    address: Address(route: .apnsProduction, bytes: DeliveryFixture.address(number)), userID: user)
                _ = try session.register(registration, app: app, now: now)
            }
            var audience = Audience()
            audience.users = [user]
            var draft = fixture.draft(audience, lifeSeconds: 86_400)
            draft.window = DeliveryWindow(
                until: fixture.now + .seconds(3600), method: .traditional, holdSeconds: 10)
            drafts.append(draft)
        }
        let (damaged, good) = (drafts[0], drafts[1])
        try await fixture.store.write(.intake) { try $0.insertMessage(damaged) }
        try await fixture.store.write(.intake) { try $0.insertMessage(good) }
        let arm = try await fixture.test.engine.read {
            try $0.value("SELECT arm FROM moment WHERE message = \(damaged.id)", Int64.self)
        }
        try await fixture.change("UPDATE moment SET arm = 99 WHERE message = \(damaged.id)")
        let log = RecordedLog()
        let service = fixture.service(log)
        try await fixture.running(service) {
            try await fixture.drive { try await fixture.state(good.id) == .sent }
            try await fixture.pass(seconds: 60)
            #expect(log.take("id", where: "set aside") == ["\(damaged.id)"])
            try await fixture.change("UPDATE moment SET arm = \(arm) WHERE message = \(damaged.id)")
            try await fixture.drive { try await fixture.state(damaged.id) == .sent }
        }
    }

    @Test("of many due pieces, the ones that fail are found and set aside, and all others are done")
    func pieces() async throws {
        let fixture = try await DeliveryFixture()
        let log = RecordedLog()
        let work = DamagedWork(
            store: fixture.store, lane: .control, time: fixture.time, logger: log.logger(.error))
        let due = Mutex(Array(1...100))
        let done = await work.work("number", limit: 500) { _, limit in
            try due.withLock { due in
                let pieces = due.prefix(limit)
                if pieces.contains(where: { $0.isMultiple(of: 33) }) { throw PealError(.internal, "damaged") }
                due.removeFirst(pieces.count)
                return pieces.count
            }
        } postpone: { _, _ in
            due.withLock { "\($0.removeFirst())" }
        }
        #expect(done == 97)
        #expect(log.take("id", where: "set aside") == ["33", "66", "99"])
    }

    @Test("a failure of the store as a whole sets nothing aside")
    func outage() async throws {
        let fixture = try await DeliveryFixture()
        let work = DamagedWork(
            store: fixture.store, lane: .control, time: fixture.time, logger: RecordedLog().logger(.error))
        let postponed = Mutex(0)
        let done = await work.work("number", limit: 500) { _, _ in
            throw PealError(.unavailable, "the disk is full")
        } postpone: { _, _ in
            postponed.withLock { $0 += 1 }
            return "1"
        }
        #expect(done == nil && postponed.withLock { $0 } == 0)
    }
}

extension DeliveryFixture {
    /// Changes the database behind the store's back.
    fileprivate func change(_ sql: SQL) async throws {
        try await test.engine.write(.control) { _ = try $0.execute(sql) }
    }

    fileprivate func service(_ log: RecordedLog) -> DeliveryService {
        DeliveryService(
            store: store, providers: [.apns: provider], time: time, randomness: randomness,
            logger: log.logger(.error))
    }
}

extension RecordedLog {
    /// The values of `key` in the entries since the last call that contain `text`.
    fileprivate func take(_ key: String, where text: String) -> [String] {
        take().filter { $0.message.contains(text) }.map { $0.metadata[key]?.description ?? "" }
    }
}
