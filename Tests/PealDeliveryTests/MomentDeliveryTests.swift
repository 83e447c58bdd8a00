import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery in windows", .timeLimit(.minutes(10)))
struct MomentDeliveryTests {
    private static func draft(
        _ bench: Bench, users: [String] = ["ann"], method: DeliveryWindow.Method, seconds: Int64 = 3600
    ) -> MessageDraft {
        var audience = Audience()
        audience.users = users
        var draft = bench.draft(audience, lifeSeconds: seconds + 86_400)
        draft.window = DeliveryWindow(until: bench.now + .seconds(seconds), method: method, holdSeconds: 10)
        return draft
    }

    private static func register(_ bench: Bench, _ number: Int, user: String = "ann") async throws {
        try await bench.store.write(.control) { [app = bench.app, now = bench.now] session in
            let registration = DeviceRegistration(
                id: Bench.deviceID(number),
                address: Address(route: .apnsProduction, bytes: Bench.address(number)), userID: user)
            _ = try session.register(registration, app: app, now: now)
        }
        bench.time.advance(by: .seconds(1))
    }

    private static func schedule(_ bench: Bench, _ draft: MessageDraft, _ service: DeliveryService) async throws {
        try await bench.store.write(.intake) { try $0.insertMessage(draft) }
        service.wake()
    }

    private static func state(_ bench: Bench, _ draft: MessageDraft) async throws -> Moment.State? {
        try await bench.store.read { try $0.moments(app: draft.app, message: draft.id).first?.state }
    }

    @Test("a traditional message is held for ten seconds and goes to the device seen last, under its id")
    func hold() async throws {
        let bench = try await Bench()
        try await Self.register(bench, 1)
        try await Self.register(bench, 2)
        let service = bench.service()
        try await bench.running(service) {
            let draft = Self.draft(bench, method: .traditional)
            try await Self.schedule(bench, draft, service)
            for _ in 0..<9 {
                bench.time.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(2))
            }
            #expect(bench.provider.sentCount(draft.id) == 0)
            try await bench.drive { try await bench.state(draft.id) == .sent }
            #expect(bench.provider.sent(draft.id) == [2: 1])
            let order = bench.provider.pages.last
            #expect(order?.lane == .direct)
            #expect(try await Self.state(bench, draft) == .sent)
            #expect(try await bench.trail(draft.id, 2).map(\.outcome) == [.accepted])
        }
    }

    @Test("a message for a good moment goes out at the end of its window, and not before")
    func fallback() async throws {
        let bench = try await Bench()
        try await Self.register(bench, 1)
        let service = bench.service()
        try await bench.running(service) {
            let draft = Self.draft(bench, method: .contextAware, seconds: 90)
            try await Self.schedule(bench, draft, service)
            for _ in 0..<89 {
                bench.time.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(bench.provider.sentCount(draft.id) == 0)
            #expect(try await bench.state(draft.id) == .scheduled)
            try await bench.drive { try await bench.state(draft.id) == .sent }
            #expect(bench.provider.sent(draft.id) == [1: 1])
        }
    }

    @Test("a dead device hands on to the next, and a user counts once")
    func nextDevice() async throws {
        let bench = try await Bench()
        for number in 1...3 { try await Self.register(bench, number) }
        bench.provider.answers { request in
            request.key == 1 ? .accepted : .verdict(.retireAddress(since: nil, isSuspicious: false), "Unregistered")
        }
        let service = bench.service()
        try await bench.running(service) {
            let draft = Self.draft(bench, method: .traditional)
            try await Self.schedule(bench, draft, service)
            try await bench.drive { try await bench.state(draft.id) == .sent }
            #expect(bench.provider.sent(draft.id) == [1: 1, 2: 1, 3: 1])
            let counts = try await bench.counts(draft.id)
            #expect(counts.accepted == 1 && counts.devices == 1)
            #expect(try await bench.device(3)?.retirement?.reason == "Unregistered")
        }
    }

    @Test("what a provider defers is tried again, once for all, and ends as sent")
    func deferred() async throws {
        let bench = try await Bench()
        try await Self.register(bench, 1)
        bench.provider.answers { request in
            request.earlier == 0 ? .verdict(.holdAddress(after: .seconds(10)), "TooManyRequests") : .accepted
        }
        let service = bench.service()
        try await bench.running(service) {
            let draft = Self.draft(bench, method: .traditional)
            try await Self.schedule(bench, draft, service)
            try await bench.drive { try await bench.state(draft.id) == .sent }
            #expect(bench.provider.sent(draft.id) == [1: 2])
            #expect(try await bench.trail(draft.id, 1).map(\.outcome) == [.moved, .accepted])
        }
    }

    @Test("who registers inside the window is reached")
    func registersLater() async throws {
        let bench = try await Bench()
        let service = bench.service()
        try await bench.running(service) {
            let draft = Self.draft(bench, method: .traditional)
            try await Self.schedule(bench, draft, service)
            for _ in 0..<30 {
                bench.time.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(2))
            }
            #expect(try await Self.state(bench, draft) == .open)
            try await Self.register(bench, 1)
            try await bench.drive { try await bench.state(draft.id) == .sent }
            #expect(bench.provider.sent(draft.id) == [1: 1])
        }
    }

    @Test("a cancelled message is never sent, and one without a credential fails")
    func ends() async throws {
        let bench = try await Bench(hasCredential: false)
        try await Self.register(bench, 1)
        let service = bench.service()
        try await bench.running(service) {
            let (gone, kept) = (Self.draft(bench, method: .traditional), Self.draft(bench, method: .traditional))
            try await Self.schedule(bench, gone, service)
            try await Self.schedule(bench, kept, service)
            let now = bench.now
            let count = try await bench.store.write(.control) {
                try $0.cancelMoments(app: gone.app, message: gone.id, now: now)
            }
            #expect(count == 1)
            try await bench.drive { try await bench.state(kept.id)?.isFinal ?? false }
            #expect(try await bench.state(gone.id) == .cancelled)
            #expect(try await bench.counts(gone.id).suppressed == 1)
            #expect(try await Self.state(bench, kept) == .failed)
            #expect(try await bench.counts(kept.id).reasons == ["NoCredential": 1])
        }
    }

    @Test("a crash between fallback and settlement sends again and ends once")
    func crash() async throws {
        let bench = try await Bench()
        try await Self.register(bench, 1)
        let draft = Self.draft(bench, method: .traditional)
        try await bench.store.write(.intake) { try $0.insertMessage(draft) }
        bench.time.advance(by: .seconds(10))
        let now = bench.now
        #expect(try await bench.store.write(.control) { try $0.fireDueMoments(now: now, limit: 9) } == 1)
        let service = bench.service()
        try await bench.running(service) {
            try await bench.drive { try await bench.state(draft.id) == .sent }
            #expect(bench.provider.sentCount(draft.id) == 1)
        }
    }
}
