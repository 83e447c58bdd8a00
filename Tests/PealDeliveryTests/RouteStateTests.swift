import PealCore
import PealDelivery
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("A route that is closed", .timeLimit(.minutes(10)))
struct RouteStateTests {
    /// Messages to one device each.
    private static func accept(_ count: Int, _ fixture: DeliveryFixture, _ service: DeliveryService) async throws
        -> [MessageID]
    {
        var ids: [MessageID] = []
        for _ in 0..<count {
            ids.append(try await fixture.accept(fixture.draft(.devices(1...1)), engine: service))
            fixture.time.advance(by: .milliseconds(2))
        }
        return ids
    }

    @Test("stays closed after a restart, which sends only a probe")
    func restart() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3000)
        fixture.provider.answers { _ in .credentialRefused }
        let first = fixture.service()
        let id = try await fixture.accept(fixture.draft(.all))
        try await fixture.running(first) {
            first.wake()
            try await fixture.routeStops()
        }
        let pages = fixture.provider.pages.count
        let second = fixture.service()
        try await fixture.running(second) {
            second.wake()
            try await fixture.pass(seconds: 20)
            #expect(fixture.provider.pages.count == pages, "the pause is not over")
            try await fixture.drive(by: .seconds(1)) { fixture.provider.pages.count > pages }
            #expect(fixture.provider.pages.dropFirst(pages).allSatisfy { $0.page.count <= Limits.probeDevicesMax })
            fixture.provider.answers { _ in .accepted }
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 3000)
        }
    }

    @Test("is tried again in time although the clock was set back meanwhile")
    func clockSetBack() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await Self.accept(1, fixture, service)[0]
            try await fixture.eventually { try await fixture.health()?.isStopped ?? false }
            fixture.provider.answers { _ in .accepted }
            try await fixture.pass(seconds: 2)
            fixture.time.setClock(by: .seconds(-3600))
            let setAt = fixture.time.uptime
            try await fixture.drive { try await fixture.state(id) == .sent }
            #expect(fixture.time.uptime - setAt < .seconds(600))
        }
    }

    @Test("is probed at once when the clock is set: a wrong clock may be why it was stopped", arguments: [1, -1])
    func clockCorrected(sign: Int64) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await Self.accept(1, fixture, service)[0]
            try await fixture.eventually { try await fixture.health()?.isStopped ?? false }
            // The pause is five minutes by now.
            try await fixture.drive(by: .seconds(5)) { fixture.provider.sent(id)[1] == 4 }
            fixture.provider.answers { _ in .accepted }
            fixture.time.setClock(by: .seconds(sign * 3600))
            let setAt = fixture.time.uptime
            try await fixture.drive { try await fixture.state(id) == .sent }
            #expect(fixture.time.uptime - setAt < .seconds(60))
        }
    }

    @Test("opens after a probe that is answered slowly")
    func slowProbe() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...200)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.routeStops()
            let pages = fixture.provider.pages.count
            fixture.provider.answers { _ in .silence }
            try await fixture.drive(by: .seconds(1)) { fixture.provider.pages.count > pages }
            try await fixture.pass(seconds: 5)
            fixture.provider.answers { _ in .accepted }
            fixture.provider.answerOpen()
            try await fixture.eventually { try await fixture.gate()?.state == .open }
        }
    }

    @Test("is tried again at once if the clock was set back while no server ran")
    func clockSetBackBetweenRuns() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let first = fixture.service()
        let id = try await fixture.accept(fixture.draft(.all))
        try await fixture.running(first) {
            first.wake()
            try await fixture.routeStops()
        }
        fixture.provider.answers { _ in .accepted }
        fixture.time.setClock(by: .seconds(-365 * 86_400))
        let second = fixture.service()
        let startedAt = fixture.time.uptime
        try await fixture.running(second) {
            second.wake()
            try await fixture.drive { try await fixture.state(id) == .sent }
        }
        #expect(fixture.time.uptime - startedAt < .seconds(60))
    }

    @Test("is stored again if a failover lost its row, unless its app is gone too")
    func failover() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service(isOnlyProcess: false)
        func loseRows() async throws {
            try await fixture.test.engine.write(.control) { _ = try $0.execute("DELETE FROM route_gate") }
            service.rereadAll()
            try await fixture.pass(seconds: 3)
        }
        try await fixture.running(service) {
            _ = try await Self.accept(1, fixture, service)
            try await fixture.eventually { try await fixture.census().slicesParked == 1 }
            try await loseRows()
            #expect(try await fixture.gate()?.state == .stopped)
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                _ = try $0.deleteApp(app, now: now)
            }
            try await loseRows()
            #expect(try await fixture.gate() == nil)
        }
    }

    @Test("a message that alone is refused delays the others by one probe, and is not lost")
    func refusedAlone() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        let bad = Mutex<MessageID?>(nil)
        fixture.provider.answers { request in bad.withLock { $0 } == request.message ? .credentialRefused : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = fixture.draft(.devices(1...1))
            bad.withLock { $0 = draft.id }
            try await fixture.accept(draft, engine: service)
            try await fixture.eventually { try await fixture.health()?.isStopped ?? false }
            let stoppedAt = fixture.now
            let good = try await Self.accept(28, fixture, service)
            try await fixture.drive {
                for id in good where try await fixture.state(id) != .sent { return false }
                return true
            }
            #expect(fixture.now - stoppedAt < .seconds(35))
            try await fixture.drive(by: .seconds(5)) { fixture.provider.sent(draft.id)[1] == 3 }
            #expect(try await fixture.health()?.isStopped == false, "its second refusal stops nobody")
            let late = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.ended(late)
            bad.withLock { $0 = nil }
            try await fixture.drive(by: .seconds(30)) { try await fixture.state(draft.id) == .sent }
            #expect(try await fixture.counts(draft.id).accepted == 1)
        }
    }

    @Test("several refused messages do not keep good ones behind them from being probed")
    func rotation() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        let bad = Mutex<Set<MessageID>>([])
        fixture.provider.answers { request in
            bad.withLock { $0.contains(request.message) } ? .credentialRefused : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            for _ in 0..<6 {
                let draft = fixture.draft(.devices(1...1))
                _ = bad.withLock { $0.insert(draft.id) }
                try await fixture.accept(draft, engine: service)
                fixture.time.advance(by: .milliseconds(2))
            }
            try await fixture.routeStops()
            let before = fixture.provider.pages.count
            let good = try await Self.accept(1, fixture, service)[0]
            try await fixture.drive { try await fixture.state(good) == .sent }
            // Counted in pages, because the clock runs ahead of the services on a busy machine. Two probes reach all
            // seven messages; once the route is open, each of the others may be refused once more.
            #expect(fixture.provider.pages.count - before <= 2 * Limits.probeMessagesMax + 6)
        }
    }

    @Test("messages that wait for it end when they expire or are cancelled, while it stays closed")
    func ends() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { _ in .verdict(.holdApp(after: .seconds(6 * 3600)), "QuotaExceeded", status: 429) }
        let service = fixture.service()
        try await fixture.running(service) {
            let expiring = try await fixture.accept(fixture.draft(.devices(1...10), lifeSeconds: 600), engine: service)
            try await fixture.eventually { try await fixture.census().slicesParked == 1 }
            let cancelled = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { try await fixture.census().slicesParked == 2 }
            let app = fixture.app
            try await fixture.store.write(.control) { [now = fixture.now] in
                _ = try $0.moveMessage(app: app, id: cancelled, from: [.sending], to: .cancelled, now: now)
            }
            service.interrupt(cancelled)
            try await fixture.eventually { try await fixture.counts(cancelled).suppressed == 10 }
            // Its devices were tried once, so it counts as sent.
            try await fixture.drive(by: .seconds(10)) { try await fixture.state(expiring) == .sent }
            #expect(try await fixture.counts(expiring).expired == 10)
            #expect(fixture.provider.sentCount(expiring) + fixture.provider.sentCount(cancelled) == 10)
        }
    }

    @Test("messages that wait for it are not written again: only its probes cost writes")
    func writes() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let counting = CountingStore(fixture.store)
        let service = fixture.service(on: counting)
        try await fixture.running(service) {
            _ = try await Self.accept(1, fixture, service)
            try await fixture.eventually { try await fixture.health()?.isStopped ?? false }
            _ = try await Self.accept(400, fixture, service)
            try await fixture.eventually { try await fixture.census().slicesParked == 401 }
            let before = (counting.settleWrites, service.metrics.snapshot.settles)
            try await fixture.drive(by: .seconds(5)) { fixture.provider.pages.count > 4 * 4 }
            let probes = 8
            #expect(counting.settleWrites - before.0 < 12 * probes)
            #expect(service.metrics.snapshot.settles - before.1 <= Limits.probeMessagesMax * probes)
        }
    }

    @Test("a gate that could not be written delays no device, and is written later with the credential's health")
    func failedWrite() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let store = CountingStore(fixture.store)
        let service = fixture.service(on: store)
        try await fixture.running(service) {
            fixture.provider.hold()
            _ = try await Self.accept(1, fixture, service)
            try await fixture.eventually { fixture.provider.heldCount == 1 }
            store.refuseControl(true)
            fixture.provider.release()
            try await fixture.pass(seconds: 5)
            #expect(fixture.provider.pages.count == 1, "the process knows that the route is closed")
            store.refuseControl(false)
            try await fixture.drive { try await fixture.gate()?.state == .stopped }
            #expect(try await fixture.health()?.isStopped == true)
        }
    }

    @Test("opens after a probe by a process that could not read that it was closed")
    func unread() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let first = fixture.service()
        try await fixture.running(first) {
            _ = try await Self.accept(1, fixture, first)
            try await fixture.routeStops()
        }
        fixture.provider.answers { _ in .accepted }
        let store = UnreadableStore(fixture.store)
        let second = fixture.service(on: store)
        try await fixture.running(second) {
            try await fixture.eventually { second.isRunning }
            store.repair()
            try await fixture.drive { try await fixture.gate()?.state == .open }
        }
    }
}

/// A store that cannot be read until it is repaired.
private final class UnreadableStore: WrappingStore {
    let store: any Store
    private let isRepaired = Atomic(false)

    init(_ store: any Store) { self.store = store }

    func repair() { isRepaired.store(true, ordering: .relaxed) }

    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R {
        guard isRepaired.load(ordering: .relaxed) else { throw PealError(.unavailable, "the disk cannot be read") }
        return try await store.read(lane, body)
    }
}

/// A store that counts the writes of settlements and leases, and may refuse control writes.
final class CountingStore: WrappingStore {
    let store: any Store
    private let count = Atomic(0)
    private let isRefusing = Atomic(false)

    init(_ store: any Store) { self.store = store }

    var settleWrites: Int { count.load(ordering: .relaxed) }
    func refuseControl(_ refuses: Bool) { isRefusing.store(refuses, ordering: .relaxed) }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        if lane == .settle { count.add(1, ordering: .relaxed) }
        if lane == .control, isRefusing.load(ordering: .relaxed) { throw PealError(.unavailable, "the disk is full") }
        return try await store.write(lane, body)
    }
}
