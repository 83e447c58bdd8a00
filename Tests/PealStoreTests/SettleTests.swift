import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Settling")
struct SettleTests {
    /// Devices 1...20,000 of one topic: several slices.
    func populated(_ engine: StoreUnderTest, _ count: Int = 20_000) async throws -> Fixture {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...count, topics: ["a"])
        return fixture
    }

    @Test("two settlements that end the last two slices end the message once", arguments: StoreUnderTest.allCases)
    func lastTwo(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine)
        let worker = Worker(fixture: fixture)
        let (id, _) = try await fixture.send(.all)
        let slices = try await fixture.lease()
        #expect(slices.count > 2)
        var last: [Settlement] = []
        for slice in slices.dropLast(2) { _ = try await worker.run(slice) }
        for slice in slices.suffix(2) {
            var slice = slice
            var page = try await worker.page(of: slice)
            for _ in 0..<100 where !page.isLast {
                let settlement = worker.settlement(slice, page)
                _ = try await worker.settle([settlement])
                (slice.cursor, slice.counts) = (page.through, settlement.counts)
                page = try await worker.page(of: slice)
            }
            last.append(worker.settlement(slice, page))
        }
        #expect(try await fixture.state(id) == .sending)
        let results = try await worker.settle(last)
        #expect(results.map(\.isApplied) == [true, true])
        #expect(results.compactMap(\.messageState) == [.sent])
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.platforms == [.ios: OutcomeCounts.accepted(20_000)])
        #expect(report?.message.firstSentAt == fixture.now)
        #expect(report?.message.endedAt == fixture.now)
        #expect(try await fixture.store.read { try $0.census() } == StoreCensus())
    }

    @Test(
        "settling its only slice ends a message, whatever the outcome", arguments: StoreUnderTest.allCases,
        [
            (Outcome.accepted, Message.State.sent, Message.State.sending), (.expired, .expired, .sending),
            (.suppressed, .sent, .sending), (.accepted, .sent, .paused), (.expired, .cancelled, .cancelled),
        ])
    func onlySlice(
        _ engine: StoreUnderTest, _ course: (outcome: Outcome, end: Message.State, meanwhile: Message.State)
    ) async throws {
        let fixture = try await populated(engine, 10)
        let (id, plan) = try await fixture.send(.devices(3, 5), owner: "me")
        let slice = try #require(plan.leasedSlices.first)
        #expect(slice.isOnly)
        #expect(plan.pages[slice.id]?.keys == [3, 5])
        if course.meanwhile != .sending {
            _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                try $0.moveMessage(app: app, id: id, from: [.sending], to: course.meanwhile, now: now)
            }
        }
        let worker = Worker(fixture: fixture)
        var settlement = try await worker.settlement(slice, worker.page(of: slice), outcome: course.outcome)
        if course.outcome != .accepted { settlement.logRow?.data = [] }
        let results = try await worker.settle([settlement])
        #expect(results.map(\.isApplied) == [true])
        #expect(results.map(\.messageState) == [course.end])
        let report = try #require(try await fixture.store.read { try $0.report(app: fixture.app, id: id) })
        #expect(report.message.state == course.end)
        #expect(report.message.endedAt == fixture.now)
        #expect(report.total.settled == 2 && report.total.pending == 0)
        #expect((report.message.firstSentAt != nil) == (course.outcome == .accepted))
        let pages = try await fixture.store.read { [app = fixture.app] in
            try $0.logRows(app: app, message: id, route: .apnsProduction, key: 5, inAddresses: false).map(\.page)
        }
        #expect(pages == [0])
        #expect(try await fixture.store.read { try $0.census() } == StoreCensus())
        #expect(try await worker.settle([settlement]).map(\.isApplied) == [true], "its answer may have been lost")
        #expect(
            try await fixture.store.read { try $0.report(app: fixture.app, id: id) } == report, "nothing counts twice")
        settlement.logRow?.lastKey = 6
        #expect(try await worker.settle([settlement]).map(\.isApplied) == [false], "the log has no such page")
    }

    @Test("a slice that defers devices is no longer the only one", arguments: StoreUnderTest.allCases)
    func onlySliceWithPart(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 10)
        let (id, plan) = try await fixture.send(.devices(3, 5), owner: "me")
        let slice = try #require(plan.leasedSlices.first)
        let worker = Worker(fixture: fixture)
        var settlement = try await worker.settlement(slice, worker.page(of: slice))
        settlement.deferrals = [.init(part: 1, keys: [5], attempt: 1, readyAt: fixture.now)]
        settlement.counts.accepted -= 1
        #expect(try await worker.settle([settlement]).map(\.messageState) == [nil])
        #expect(try await fixture.state(id) == .sending)
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.releaseDueSlices(now: now, limit: 10)
        }
        let part = try #require(try await fixture.lease().first)
        #expect(!part.isOnly)
        #expect(try await worker.run(part) == [5])
        #expect(try await fixture.state(id) == .sent)
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.total == OutcomeCounts.accepted(2))
    }

    @Test(
        "settlements whose commit was not answered are applied once, and reported as applied when they are repeated",
        arguments: StoreUnderTest.allCases)
    func repeated(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 3000)
        let worker = Worker(fixture: fixture)
        let (id, _) = try await fixture.send(.all)
        var slice = try #require(try await fixture.lease().first)
        var settlements: [Settlement] = []
        for part in 1...2 {
            let page = try await worker.page(of: slice)
            var settlement = worker.settlement(slice, page)
            let late = Array(page.keys.prefix(2))
            settlement.deferrals = [
                .init(
                    part: Int64(part), keys: late, attempt: 0, readyAt: fixture.now,
                    leasedUntil: fixture.now + .seconds(30))
            ]
            settlement.counts.accepted -= late.count
            settlements.append(settlement)
            (slice.cursor, slice.counts) = (page.through, settlement.counts)
        }
        let first = try await worker.settle(settlements)
        fixture.time.advance(by: .seconds(20))
        let second = try await worker.settle(settlements)
        #expect(first.map(\.isApplied) == [true, true] && second.map(\.isApplied) == [true, true])
        #expect(second.map { $0.leasedSlices.map(\.id.part) } == [[1], [2]], "the worker awaits its stragglers")
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.total.accepted == 2048 - 4)
        let pages = try await fixture.store.read { [app = fixture.app] in
            try $0.logRows(app: app, message: id, route: .apnsProduction, key: 1500, inAddresses: false).map(\.page)
        }
        #expect(pages == [1])

        let release = Settlement(of: slice, by: "me", next: .release(readyAt: nil))
        #expect(try await worker.settle([release])[0].isApplied)
        #expect(try await worker.settle([release])[0].isApplied)
        let next = try #require(try await fixture.lease(owner: "other").first)
        #expect(try await !worker.settle([release])[0].isApplied, "another's lease")
        #expect(try await worker.settle(settlements).allSatisfy(\.isApplied), "the stragglers prove it")
        #expect(next.cursor == slice.cursor)
    }

    @Test(
        "a settlement that waited for the store extends its lease from when it is written",
        arguments: StoreUnderTest.allCases)
    func lateLease(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 3000)
        let worker = Worker(fixture: fixture)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        settlement.deferrals = [
            .init(
                part: 1, keys: [page.keys[0]], attempt: 0, readyAt: fixture.now,
                leasedUntil: fixture.now + .seconds(30))
        ]
        fixture.time.advance(by: .seconds(60))
        #expect(try await worker.settle([settlement])[0].isApplied)
        let taken = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.takeBackLeases(endedBefore: now + .seconds(Limits.leaseSeconds - 1))
        }
        #expect(taken == 0)
    }

    @Test("a slice that is quarantined after its message ended becomes ending", arguments: StoreUnderTest.allCases)
    func quarantinedLate(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 10)
        let worker = Worker(fixture: fixture)
        var quarantined: [(id: MessageID, slice: Slice)] = []
        for keepsAnswers in [false, true] {
            let (id, _) = try await fixture.send(.all)
            let slice = try #require(try await fixture.lease().first)
            let settlement = worker.settlement(slice, try await worker.page(of: slice))
            let result = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                _ = try $0.moveMessage(app: app, id: id, from: [.sending], to: .cancelled, now: now)
                return try $0.quarantine(settlement, reason: "damaged", keepsAnswers: keepsAnswers, now: now)
            }
            #expect(result.isApplied && result.isQuarantined)
            quarantined.append((id, slice))
        }
        let ending = try await fixture.lease()
        try #require(ending.map(\.id) == [quarantined[1].slice.id])
        #expect(try await worker.run(ending[0]).isEmpty, "its answers were kept")
        let ids = quarantined.map(\.id)
        let first = try await fixture.store.read { try $0.report(app: fixture.app, id: ids[1]) }
        #expect(first?.total.pending == 0)

        #expect(try await fixture.store.read { try $0.census().slicesQuarantined } == 1, "it would fail again at once")
        #expect(try await fixture.store.write(.control) { try $0.endQuarantined(limit: 10) } == 1)
        let swept = try #require(try await fixture.lease().first)
        _ = try await worker.run(swept, outcome: .suppressed)
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: ids[0]) }
        #expect(report?.total.suppressed == 10 && report?.total.pending == 0)
        #expect(try await fixture.store.write(.control) { try $0.endQuarantined(limit: 10) } == 0)
    }

    @Test("a slice that ends with its message gets the answers of a further page", arguments: StoreUnderTest.allCases)
    func addedAtTheEnd(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 10)
        let worker = Worker(fixture: fixture, pageLimit: 5)
        let (id, _) = try await fixture.send(.all)
        var slice = try #require(try await fixture.lease().first)
        let page = try await worker.page(of: slice)
        let first = worker.settlement(slice, page)
        (slice.cursor, slice.counts) = (page.through, first.counts)
        let second = worker.settlement(slice, try await worker.page(of: slice))
        let isAdded = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            _ = try $0.moveMessage(app: app, id: id, from: [.sending], to: .cancelled, now: now)
            _ = try $0.quarantine(first, reason: "damaged", keepsAnswers: true, now: now)
            return try $0.addToQuarantine(second, keepsAnswers: true, now: now)
        }
        #expect(isAdded)
        let ending = try #require(try await fixture.lease().first)
        #expect(ending.id == slice.id)
        #expect(try await worker.run(ending).isEmpty, "its answers were kept")
        #expect(try await fixture.store.read { try $0.report(app: fixture.app, id: id) }?.total.accepted == 10)
    }

    @Test("a quarantined slice continues when its message is resumed", arguments: StoreUnderTest.allCases)
    func resumedQuarantine(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 10)
        let worker = Worker(fixture: fixture)
        let (id, _) = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let settlement = worker.settlement(slice, try await worker.page(of: slice))
        let ended = try await fixture.store.write(.control) { [now = fixture.now] in
            _ = try $0.quarantine(settlement, reason: "damaged", keepsAnswers: false, now: now)
            return try $0.endQuarantined(limit: 10)
        }
        #expect(ended == 0, "its message has not ended")
        #expect(try await fixture.lease().isEmpty)
        let count = try await fixture.store.write(.control) { [app = fixture.app] in
            try $0.resumeQuarantined(app: app, id: id)
        }
        #expect(count == 1)
        #expect(try await worker.run().count == 10)
        #expect(try await fixture.state(id) == .sent)
    }

    @Test(
        "a settlement that ended its message is reported as applied when it is repeated after a lost commit",
        arguments: StoreUnderTest.allCases, [true, false])
    func repeatedEnd(_ engine: StoreUnderTest, isDirect: Bool) async throws {
        let fixture = try await populated(engine, 1500)
        let worker = Worker(fixture: fixture)
        let (id, plan) = try await fixture.send(isDirect ? .devices(7) : .all, owner: "me")
        var slice = try #require(isDirect ? plan.leasedSlices.first : try await fixture.lease().first)
        #expect(slice.isOnly == isDirect)
        var settlements: [Settlement] = []
        while settlements.last?.next != .done {
            let page = try await worker.page(of: slice)
            settlements.append(worker.settlement(slice, page))
            (slice.cursor, slice.counts) = (page.through, settlements[settlements.count - 1].counts)
        }
        let first = try await worker.settle(settlements)
        fixture.time.advance(by: .seconds(1))
        let second = try await worker.settle(settlements)
        #expect(first.allSatisfy(\.isApplied) && second.allSatisfy(\.isApplied))
        #expect(second.last?.messageState == .sent)
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.total.accepted == (isDirect ? 1 : 1500))
        // Of another holder of the lease: the log does not have it.
        var other = settlements[settlements.count - 1]
        other.logRow?.sentAt = fixture.now
        #expect(try await !worker.settle([other])[0].isApplied)
    }

    @Test("a settlement under a lost lease or a past cursor changes nothing", arguments: StoreUnderTest.allCases)
    func lostLease(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 3000)
        let worker = Worker(fixture: fixture)
        let (id, _) = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let page = try await worker.page(of: slice)
        let settlement = worker.settlement(slice, page)
        #expect(try await worker.settle([settlement])[0].isApplied)
        let taken = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.takeBackLeases(endedBefore: now + .seconds(60))
        }
        #expect(taken == 1)
        let other = try #require(try await fixture.lease(owner: "other").first)
        #expect(other.term == slice.term + 1)
        #expect(other.cursor == page.through)
        #expect(other.counts.accepted == page.count)
        #expect(other.pageCount == 1)
        var late = slice
        late.cursor = page.through
        let latePage = try await worker.page(of: late)
        #expect(try await !worker.settle([worker.settlement(late, latePage)])[0].isApplied, "another's lease")
        let rows = try await fixture.store.read { [app = fixture.app] in
            try $0.logRows(app: app, message: id, route: .apnsProduction, key: 2000, inAddresses: false)
        }
        #expect(rows.isEmpty)
        _ = try await Worker(fixture: fixture, owner: "other").run(other)
        _ = try await Worker(fixture: fixture, owner: "other").run()
        #expect(try await fixture.state(id) == .sent)
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.total.accepted == 3000)
    }
}

extension OutcomeCounts {
    static func accepted(_ count: Int) -> OutcomeCounts {
        var counts = OutcomeCounts()
        counts.accepted = count
        return counts
    }
}
