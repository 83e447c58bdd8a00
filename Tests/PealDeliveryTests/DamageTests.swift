import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("Delivery from a damaged database", .timeLimit(.minutes(10)))
struct DamageTests {
    @Test("a slice that cannot be leased delays no other route")
    func lease() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...10)
        let other = try await fixture.another()
        try await other.putCredential()
        try await other.register(11...20)
        let damaged = try await fixture.accept(fixture.draft(.all))
        let good = try await other.accept(other.draft(.all))
        let message = damaged.description.replacing("-", with: "").uppercased()
        try await fixture.test.execute(
            """
            CREATE TRIGGER damage BEFORE UPDATE OF owner ON slice WHEN hex(NEW.message) = '\(message)'
            BEGIN SELECT RAISE(ABORT, 'damaged row'); END
            """)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.eventually { try await other.state(good) == .sent }
            #expect(try await fixture.state(damaged) == .sending)
            try await fixture.test.execute("DROP TRIGGER damage")
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(damaged) == .sent }
            #expect(try await fixture.counts(damaged) == .accepted(10))
        }
    }

    @Test("a message that cannot be read is not leased over and over after its end")
    func unreadable() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...10)
        let id = try await fixture.accept(fixture.draft(.all))
        try await fixture.test.execute("UPDATE message_content SET content = x'FF'")
        try await fixture.move(id, from: [.sending], to: .cancelled)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.eventually { try await fixture.census().slicesLeased == 1 }
            try await fixture.pass(seconds: 5)
            #expect(service.metrics.snapshot.settles == 0)
            #expect(try await fixture.census().slicesLeased == 1)
        }
    }

    @Test("a quarantined slice keeps the answers to all of its pages in flight")
    func pagesInFlight() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...4000)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.refuseLog(of: id)
            try await fixture.eventually { fixture.provider.heldCount == 2 }
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().slicesQuarantined == 1 }
            try await fixture.eventually { try await fixture.counts(id).accepted == 4000 }
            try await fixture.repairLog()
            try await fixture.move(id, from: [.sending], to: .paused)
            try await fixture.move(id, from: [.paused], to: .sending)
            service.interrupt(id)
            try await fixture.drive { try await fixture.state(id) == .sent }
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.counts(id).accepted == 4000)
        }
    }

    @Test(
        "devices whose answers a quarantined slice cannot get are counted once, as resent",
        arguments: [Slice.State.leased, .quarantined])
    func answersInDoubt(stuck: Slice.State) async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...4000)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.refuseLog(of: id)
            try await fixture.eventually { fixture.provider.heldCount == 2 }
            try await fixture.refuseCursor(of: id, in: stuck)
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().slicesQuarantined == 1 }
            try await fixture.eventually {
                let doubt = try await fixture.test.engine.read { try $0.count("SELECT doubt FROM slice") }
                return try await fixture.counts(id).accepted + doubt == 4000
            }
            try await fixture.repairLog()
            try await fixture.repairCursor()
            _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                try $0.resumeQuarantined(app: app, id: id, now: now)
            }
            service.interrupt(id)
            try await fixture.drive { try await fixture.state(id) == .sent }
            let (counts, repeated) = (try await fixture.counts(id), fixture.provider.repeatCount(id))
            #expect(counts.accepted == 4000 && counts.resent == repeated)
            #expect(stuck == .leased ? repeated == 4000 : (1..<4000).contains(repeated))
            #expect(service.metrics.snapshot.resent == repeated)
            #expect(service.metrics.snapshot.notifications.values.reduce(0, +) == 4000)
        }
    }
}
