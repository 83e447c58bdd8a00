import PealCore
@testable import PealStore
import PealTesting
import Synchronization
import Testing

extension MomentStoreTests {
    @Test("cancelling a message of several users cancels every open moment", arguments: StoreUnderTest.allCases)
    func several(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        try await fixture.register(2, user: "ben")
        let draft = Self.draft(fixture, users: ["ann", "ben", "cleo"])
        let moments = try await Self.insert(fixture, draft)
        let now = fixture.now
        _ = try await fixture.store.write(.intake) {
            try $0.apply(
                .fallback(to: .init(device: 1, route: .apnsProduction)), to: moments[0], now: moments[0].deadline)
        }
        #expect(
            try await fixture.store.write(.intake) {
                try $0.cancelMoments(app: draft.app, message: draft.id, now: now)
            } == 2)
        #expect(try await fixture.state(draft.id) == .cancelled)
        _ = try await Self.work(fixture)
        let report = try await Self.report(fixture, draft.id)
        #expect(report.total.accepted == 1 && report.total.suppressed == 2 && report.total.devices == 3)
        #expect(
            try await fixture.store.write(.intake) {
                try $0.cancelMoments(app: draft.app, message: draft.id, now: now)
            } == 0)
    }

    @Test(
        "alerts of one message that fall due together share slices of a small message's size",
        arguments: StoreUnderTest.allCases)
    func together(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = try await Self.dueTogether(fixture, count: 300)
        #expect(try await Self.fire(fixture, limit: 500) == 300)
        let slices = try await fixture.lease()
        #expect(slices.compactMap { $0.keys?.count }.sorted() == [44, 128, 128])
        #expect(slices.allSatisfy { $0.lane == .direct && $0.id.isMoment })
        let worker = Worker(fixture: fixture)
        for slice in slices { _ = try await Self.settle(worker, slice) { _ in .accepted } }
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent)
        #expect(report.total.accepted == 300 && report.total.devices == 300)
    }

    @Test(
        "of alerts sent together, each ends separately: sent, passed on, postponed, or gone before it was read",
        arguments: StoreUnderTest.allCases)
    func eachByItself(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        // The first user has an older device, 9, to go to.
        try await fixture.register(9, user: "u1")
        let draft = try await Self.dueTogether(fixture, count: 4)
        #expect(try await Self.fire(fixture) == 4)
        let slice = try #require(try await fixture.lease().first)
        let keys = try #require(slice.keys)
        #expect(keys.count == 4)
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            _ = try $0.deleteDevice(app: app, id: Fixture.deviceID(4), now: now)
        }
        let worker = Worker(fixture: fixture)
        let (dead, late) = (keys[0], keys[1])
        let applied = try await Self.settle(worker, slice, putOff: [late]) { $0 == dead ? .retired : .accepted }
        #expect(applied)
        let states = try await fixture.store.read { try $0.moments(app: draft.app, message: draft.id).map(\.state) }
        #expect(states == [.sending, .sending, .sent, .failed])
        #expect(try await Self.report(fixture, draft.id).total.reasons == ["DeviceGone": 1, "Word": 1])
        fixture.time.advance(by: .seconds(60))
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.releaseDueSlices(now: now, limit: 10)
        }
        #expect(try await Self.work(fixture).count == 2)
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent)
        #expect(report.total.accepted == 3 && report.total.retired == 1 && report.total.devices == 4)
    }

    /// A message to `count` users with a device each, at the end of its window.
    private static func dueTogether(_ fixture: Fixture, count: Int) async throws -> MessageDraft {
        for number in 1...count { try await fixture.register(number, user: "u\(number)") }
        let draft = Self.draft(fixture, users: (1...count).map { "u\($0)" }, method: .traditional)
        _ = try await Self.insert(fixture, draft)
        fixture.time.advance(by: .seconds(10))
        return draft
    }

    /// Processes a slice in one page.
    private static func settle(
        _ worker: Worker, _ slice: Slice, putOff: [DeviceKey] = [], _ outcome: (DeviceKey) -> Outcome
    ) async throws -> Bool {
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        let entries = page.keys.map { key in
            DeliveryLogEntry(
                key: key, outcome: putOff.contains(key) ? .moved : outcome(key), reason: "Word", attempt: 1)
        }
        settlement.logRow?.data = DeliveryLog.encode(entries)
        settlement.alerts = entries
        if !putOff.isEmpty {
            let readyAt = worker.fixture.now + .seconds(30)
            settlement.deferrals = [.init(part: 77, keys: putOff, attempt: 1, readyAt: readyAt)]
        }
        settlement.retirements = page.keys.filter { outcome($0) == .retired }.map {
            .init(key: $0, revision: 1, notAfter: worker.fixture.now, reason: "Word")
        }
        return try await worker.settle([settlement])[0].isApplied
    }
}
