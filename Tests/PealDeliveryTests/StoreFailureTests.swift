import PealCore
@testable import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery while the store fails", .timeLimit(.minutes(10)))
struct StoreFailureTests {
    @Test("two minutes without a write repeat nothing, no page begins after those in flight, and the log stays short")
    func outage() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...6000)
        fixture.provider.hold()
        let severed = SeveredStore(fixture.store)
        let log = RecordedLog()
        let service = DeliveryService(
            store: severed, providers: [.apns: fixture.provider], time: fixture.time, randomness: fixture.randomness,
            logger: log.logger())
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount >= 2 }
            severed.cut()
            fixture.provider.release()
            try await fixture.eventually { fixture.provider.pages.allSatisfy { $0.flight.answers.isComplete } }
            try await fixture.pass(seconds: 3)
            let begun = fixture.provider.pages.count
            try await fixture.pass(seconds: 120)
            #expect(fixture.provider.pages.count == begun)
            #expect(service.storeFailure != nil)
            let lines = log.take().map(\.message)
            #expect((1...6).contains(lines.count), "\(lines)")
            severed.restore()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(fixture.provider.sentCount(id) == 6000)
            #expect(service.metrics.snapshot.leasesTakenBack == 0)
            #expect(service.storeFailure == nil)
            #expect(try await fixture.counts(id) == .accepted(6000))
        }
    }

    @Test("after an outage for several processes, none takes over what its holder still settles")
    func sharedOutage() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...6000)
        fixture.provider.hold()
        let severed = [SeveredStore(fixture.store), SeveredStore(fixture.store)]
        let services = severed.map { fixture.service(on: $0, isOnlyProcess: false) }
        try await fixture.running(services[0]) {
            try await fixture.running(services[1]) {
                try await fixture.eventually { services.allSatisfy(\.isRunning) }
                var ids: [MessageID] = []
                for service in services {
                    ids.append(try await fixture.accept(fixture.draft(.all), engine: service))
                    ids.append(try await fixture.accept(fixture.draft(.devices(1...40)), engine: service))
                }
                try await fixture.eventually { fixture.provider.heldCount >= 4 }
                for store in severed { store.cut() }
                fixture.provider.release()
                try await fixture.eventually { fixture.provider.pages.allSatisfy { $0.flight.answers.isComplete } }
                // Longer than a lease, and until just before a round of both Rescuers.
                try await fixture.pass(seconds: 59)
                for store in severed { store.restore() }
                try await fixture.pass(seconds: 3)
                #expect(services.map(\.metrics.snapshot.leasesTakenBack) == [0, 0])
                // Slowly, so that no lease ends before its worker runs on a busy machine.
                try await fixture.drive(by: .milliseconds(20), isWorkUnderWay: true) {
                    for id in ids where try await fixture.state(id) != .sent { return false }
                    return true
                }
                #expect(ids.map { fixture.provider.repeatCount($0) } == [0, 0, 0, 0])
                #expect(services.map(\.metrics.snapshot.settlesRefused) == [0, 0])
            }
        }
    }

    @Test("an idle process detects that the store refuses writes, and that it accepts them again")
    func readiness() async throws {
        let fixture = try await DeliveryFixture()
        let severed = SeveredStore(fixture.store)
        let service = fixture.service(on: severed)
        try await fixture.running(service) {
            try await fixture.drive { service.storeFailure == nil }
            severed.cut()
            try await fixture.drive { service.storeFailure == "the store does not accept writes: the process is dead" }
            severed.restore()
            try await fixture.drive { service.storeFailure == nil }
        }
    }

    @Test("a process that was stopped for 40 s keeps its leases and the answers that came meanwhile")
    func stopped() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...2000)
        fixture.provider.answers { _ in .silence }
        let service = fixture.service()
        try await fixture.running(service) {
            // A starting process takes back leases that were taken before.
            try await fixture.eventually { service.isRunning }
            let bulk = try await fixture.accept(fixture.draft(.all), engine: service)
            let small = try await fixture.accept(fixture.draft(.devices(1...40)), engine: service)
            try await fixture.eventually {
                fixture.provider.sentCount(bulk) == 2000 && fixture.provider.sentCount(small) == 40
            }
            fixture.time.stall(for: .seconds(40))
            try await fixture.pass(seconds: 12)
            fixture.provider.answerOpen()
            try await fixture.drive(isWorkUnderWay: true) {
                let states = [try await fixture.state(bulk), try await fixture.state(small)]
                return states == [.sent, .sent]
            }
            #expect(fixture.provider.repeatCount(bulk) + fixture.provider.repeatCount(small) == 0)
            #expect(service.metrics.snapshot.leasesTakenBack == 0)
            #expect(service.metrics.snapshot.settlesRefused == 0)
        }
    }

    @Test("one settlement that cannot be stored quarantines its slice and touches no other message")
    func quarantine() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...300)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let damaged = try await fixture.accept(fixture.draft(.all), engine: service)
            let others = [
                try await fixture.accept(fixture.draft(.all), engine: service),
                try await fixture.accept(fixture.draft(.devices(1...20)), engine: service),
            ]
            try await fixture.refuseLog(of: damaged)
            try await fixture.eventually { fixture.provider.heldCount >= 3 }
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().slicesQuarantined == 1 }
            for id in others {
                try await fixture.drive { try await fixture.state(id) == .sent }
                #expect(fixture.provider.repeatCount(id) == 0)
            }
            try await fixture.pass(seconds: 120)
            #expect(fixture.provider.repeatCount(damaged) == 0)
            #expect(try await fixture.state(damaged) == .sending)
            #expect(try await fixture.counts(damaged).reasons["quarantined"] ?? 0 > 0)
            let named = try await fixture.store.read { try $0.quarantinedSlices(limit: 10) }
            #expect(named.map(\.message) == [damaged])
            #expect(named.first?.reason.contains("damaged page") == true)
            #expect(service.metrics.snapshot.slicesQuarantined == 1)

            try await fixture.repairLog()
            try await fixture.move(damaged, from: [.sending], to: .paused)
            try await fixture.move(damaged, from: [.paused], to: .sending)
            service.interrupt(damaged)
            try await fixture.drive { try await fixture.state(damaged) == .sent }
            #expect(fixture.provider.repeatCount(damaged) == 0, "the answers were kept")
            #expect(try await fixture.counts(damaged).accepted == 300)
            #expect(try await fixture.census().slicesQuarantined == 0)
        }
    }

    @Test("if not even the answers can be stored, a resumed slice repeats its page once and counts it as resent")
    func quarantineWithoutAnswers() async throws {
        let fixture = try await DeliveryFixture(.sqlite)
        try await fixture.register(1...200)
        let service = fixture.service()
        try await fixture.running(service) {
            fixture.provider.hold()
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount >= 1 }
            try await fixture.refuseCursor(of: id)
            fixture.provider.release()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.census().slicesQuarantined == 1 }
            try await fixture.pass(seconds: 60)
            #expect(fixture.provider.repeatCount(id) == 0)
            try await fixture.repairCursor()
            let resumed = try await fixture.store.write(.control) { [app = fixture.app] in
                try $0.resumeQuarantined(app: app, id: id)
            }
            #expect(resumed == 1)
            service.interrupt(id)
            try await fixture.drive { try await fixture.state(id) == .sent }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 200 && counts.resent == 200)
            #expect(fixture.provider.repeatCount(id) == 200)
        }
    }

    @Test("after a crash with one slow answer in each of seven small messages only the unanswered are repeated")
    func crashWithSlowAnswers() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...128)
        fixture.provider.answers { $0.key == 100 && $0.earlier == 0 ? .silence : .accepted }
        let severed = SeveredStore(fixture.store)
        let first = fixture.service(on: severed)
        let run = Task { await first.run() }
        var ids: [MessageID] = []
        for _ in 0..<7 { ids.append(try await fixture.accept(fixture.draft(.devices(1...128)), engine: first)) }
        for id in ids {
            try await fixture.drive(by: .milliseconds(100), isWorkUnderWay: true) {
                try await fixture.counts(id).accepted == 127
            }
        }
        severed.cut()
        run.cancel()
        let second = fixture.service()
        try await fixture.running(second) {
            second.wake()
            for id in ids {
                try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
                #expect(fixture.provider.repeatCount(id) == 1)
                let counts = try await fixture.counts(id)
                #expect(counts.accepted == 128)
                #expect(counts.resent == 1)
            }
        }
        fixture.time.advance(by: .seconds(60))
        await run.value
    }

    @Test("a lost answer to the commit that ends a message does not count as a lost lease")
    func lostCommit() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        let severed = SeveredStore(fixture.store)
        let service = fixture.service(on: severed)
        try await fixture.running(service) {
            try await fixture.eventually { service.leaseOffer != nil && service.isRunning }
            // A lease from the instant of the start would be confirmed by a write first.
            try await fixture.pass(seconds: 1)
            severed.loseAnswers(1)
            let id = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.ended(id)
            try await fixture.drive(isWorkUnderWay: true) { service.metrics.snapshot.settles == 1 }
            #expect(service.metrics.snapshot.settlesFailed == 1)
            #expect(service.metrics.snapshot.settlesRefused == 0)
            #expect(try await fixture.counts(id).accepted == 1)
        }
    }

    @Test("small pages hold at most 16 devices, and stragglers are settled as they come")
    func smallPages() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...128)
        fixture.provider.answers { $0.key.isMultiple(of: 4) ? .silence : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...128)), engine: service)
            try await fixture.drive(by: .milliseconds(100), isWorkUnderWay: true) {
                try await fixture.counts(id).accepted == 96
            }
            #expect(fixture.provider.pages.allSatisfy { $0.page.count <= Limits.directPageDevicesMax })
            fixture.provider.answerOpen(limit: 10)
            try await fixture.drive(by: .milliseconds(100), isWorkUnderWay: true) {
                try await fixture.counts(id).accepted == 106
            }
            fixture.provider.answerOpen()
            try await fixture.drive(by: .milliseconds(100), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.counts(id) == .accepted(128))
        }
    }

    @Test("a notification that is sent again after a lost answer counts as resent")
    func lostAnswer() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3)
        fixture.provider.answers { request in
            request.key == 2 && request.earlier == 0
                ? .answer(ProviderAnswer(.lost, reason: "ConnectionLost")) : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...3)), engine: service)
            try await fixture.drive { try await fixture.state(id) == .sent }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 3 && counts.resent == 1)
            // The metric follows the transaction.
            try await fixture.drive(isWorkUnderWay: true) { service.metrics.snapshot.resent == 1 }
        }
    }
}

@Suite("The gate between page and rendering")
struct PageGateTests {
    /// Holds every second device for a minute and suppresses the users it is given.
    private struct Rules: PageGate {
        let suppressed: Set<String>
        let openAt: Timestamp
        func needs(of job: DeliveryJob, in slice: Slice.ID) -> GateNeeds { GateNeeds(people: true) }

        func rule(
            on page: DevicePage, of job: DeliveryJob, in slice: Slice.ID, isSorting: Bool, at now: Timestamp
        ) -> [PageRuling] {
            page.people.indices.compactMap { index in
                if let user = page.people[index].user, suppressed.contains(user) {
                    return PageRuling(index: index, decision: .suppress(.frequencyCap))
                }
                guard page.keys[index].isMultiple(of: 2), now < openAt else { return nil }
                return PageRuling(index: index, decision: .hold(.init(until: openAt, reason: .quietHours)))
            }
        }
    }

    @Test("devices are sent to, held until an instant, or suppressed", arguments: [false, true])
    func decides(isDense: Bool) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
            for number in 1...40 {
                let registration = DeviceRegistration(
                    id: DeliveryFixture.deviceID(number),
                    address: Address(route: .apnsProduction, bytes: DeliveryFixture.address(number)),
                    userID: number == 5 ? "eve" : "user \(number)",
                    topics: isDense || number.isMultiple(of: 10) || number == 5 ? ["news"] : [])
                _ = try session.register(registration, app: app, now: now)
            }
        }
        var audience = Audience()
        audience.topics = ["news"]
        var options = DeliveryOptions()
        let openAt = fixture.now + .seconds(60)
        options.gate = Rules(suppressed: ["eve"], openAt: openAt)
        let service = DeliveryService(
            store: fixture.store, providers: [.apns: fixture.provider], time: fixture.time,
            randomness: fixture.randomness, options: options)
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(audience), engine: service)
            let count = isDense ? 40 : 5
            let early = isDense ? 19 : 0
            try await fixture.eventually { try await fixture.counts(id).suppressed == 1 }
            try await fixture.eventually { try await fixture.counts(id).accepted == early }
            #expect(fixture.provider.sentCount(id) == early)
            #expect(try await fixture.trail(id, 10).map(\.reason) == ["QuietHours"])
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(fixture.now >= openAt)
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == count - 1 && counts.suppressed == 1 && counts.resent == 0)
            #expect(counts.reasons == ["FrequencyCap": 1])
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }
}

extension OutcomeCounts {
    static func accepted(_ count: Int) -> OutcomeCounts {
        var counts = OutcomeCounts()
        counts.accepted = count
        return counts
    }
}

extension DeliveryFixture {
    /// Makes SQLite refuse every row of the message's log, as a damaged page would.
    func refuseLog(of message: MessageID) async throws {
        try await run(
            """
            CREATE TRIGGER damage BEFORE INSERT ON delivery_page WHEN hex(NEW.message) = '\(message.hex)'
            BEGIN SELECT RAISE(ABORT, 'damaged page'); END
            """)
    }

    func repairLog() async throws { try await run("DROP TRIGGER damage") }

    /// Makes SQLite refuse to move the cursor of the message's slices, or only of those in `state`.
    func refuseCursor(of message: MessageID, in state: Slice.State? = nil) async throws {
        try await run(
            """
            CREATE TRIGGER stuck BEFORE UPDATE OF cursor ON slice
                WHEN hex(NEW.message) = '\(message.hex)' AND NEW.cursor <> OLD.cursor
                    \(state.map { "AND OLD.state = \($0.rawValue)" } ?? "")
            BEGIN SELECT RAISE(ABORT, 'damaged row'); END
            """)
    }

    func repairCursor() async throws { try await run("DROP TRIGGER stuck") }

    private func run(_ sql: String) async throws {
        try await test.execute(sql)
    }
}

extension MessageID {
    fileprivate var hex: String { description.replacing("-", with: "").uppercased() }
}
