import PealCore
import PealStore
import PealTesting
import Testing

extension SettleTests {
    @Test("several pages of one slice in one transaction are applied in order", arguments: StoreUnderTest.allCases)
    func pagesTogether(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 3000)
        let worker = Worker(fixture: fixture)
        let (id, _) = try await fixture.send(.all)
        var slice = try #require(try await fixture.lease().first)
        var settlements: [Settlement] = []
        for _ in 0..<4 {
            let page = try await worker.page(of: slice)
            settlements.append(worker.settlement(slice, page))
            if page.isLast { break }
            (slice.cursor, slice.counts) = (page.through, settlements[settlements.count - 1].counts)
        }
        #expect(settlements.count == 3)
        #expect(try await worker.settle(settlements).map(\.isApplied) == [true, true, true])
        let pages = try await fixture.store.read { [app = fixture.app] session in
            try [1, 1500, 3000].map {
                try session.logRows(app: app, message: id, route: .apnsProduction, key: $0, inAddresses: false)
                    .map(\.page)
            }
        }
        #expect(pages == [[0], [1], [2]])
        #expect(try await fixture.state(id) == .sent)
    }

    @Test(
        "deferred keys become slices that are due later, and every device is still counted once",
        arguments: StoreUnderTest.allCases)
    func deferrals(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 10)
        let worker = Worker(fixture: fixture)
        let (id, _) = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        settlement.counts = .accepted(7)
        let later = fixture.now + .seconds(10)
        settlement.deferrals = [
            .init(part: 11, keys: [2, 5], attempt: 1, readyAt: later),
            .init(part: 12, keys: [9], attempt: 0, readyAt: later, leasedUntil: fixture.now + .seconds(30)),
        ]
        let result = try await worker.settle([settlement])[0]
        #expect(result.messageState == nil)
        let straggler = try #require(result.leasedSlices.first)
        #expect(result.leasedSlices.count == 1)
        #expect(straggler.keys == [9])
        #expect(straggler.term == 1)
        var report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.total.accepted == 7)
        #expect(report?.total.pending == 3)

        #expect(try await worker.run(straggler) == [9])
        #expect(try await fixture.lease().isEmpty, "not due yet")
        #expect(try await fixture.store.read { try $0.nextDueAt() } == later)
        fixture.time.advance(by: .seconds(10))
        let released = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.releaseDueSlices(now: now, limit: 10)
        }
        #expect(released == 1)
        let app = fixture.app
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.deleteDevice(app: app, id: Fixture.deviceID(5), now: now)
        }
        #expect(try await worker.run() == [2])
        #expect(try await fixture.state(id) == .sent)
        report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.total.accepted == 9)
        #expect(report?.total.devices == 9)
        let rows = try await fixture.store.read { [app = fixture.app] in
            try $0.logRows(app: app, message: id, route: .apnsProduction, key: 2, inAddresses: false)
        }
        #expect(rows.map(\.slice.part) == [0, 11], "oldest first")
    }

    @Test("a retirement applies to the address that was read, and to no later one", arguments: StoreUnderTest.allCases)
    func retirement(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 4)
        let worker = Worker(fixture: fixture)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let page = try await worker.page(of: slice)
        fixture.time.advance(by: .seconds(100))
        try await fixture.register(2, address: Fixture.address(22), topics: ["a"])
        try await fixture.register(3, topics: ["a"])
        var settlement = worker.settlement(slice, page)
        settlement.retirements = (1...3).map {
            .init(key: $0, revision: page.revisions[Int($0) - 1], notAfter: page.readAt, reason: "Unregistered")
        }
        #expect(try await worker.settle([settlement])[0].isApplied)
        let retirements = try await fixture.store.read { [app = fixture.app] in
            try $0.devices(app: app, .init(), after: 0, limit: 10).map { $0.retirement?.reason }
        }
        #expect(retirements == ["Unregistered", nil, nil, nil], "2 has another address, 3 registered since")
        let topic = try await fixture.store.read { try $0.topic(app: fixture.app, name: "a", now: fixture.now) }
        #expect(topic?.deviceCount == 3)

        let back = try await fixture.register(1, topics: nil)
        #expect(back.device.retirement == nil)
        #expect(back.device.topics == ["a"])
        _ = try await fixture.send(.topics("a"))
        #expect(try await worker.run() == [1, 2, 3, 4])
    }

    @Test(
        "a retirement of an address that the device left and took again is not applied",
        arguments: StoreUnderTest.allCases)
    func returnedAddress(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 1)
        let worker = Worker(fixture: fixture)
        _ = try await fixture.send(.all)
        let slice = try #require(try await fixture.lease().first)
        let page = try await worker.page(of: slice)
        try await fixture.register(1, address: Fixture.address(7))
        try await fixture.register(1, address: Fixture.address(1))
        var settlement = worker.settlement(slice, page)
        settlement.retirements = [
            .init(key: 1, revision: page.revisions[0], notAfter: fixture.now, reason: "Unregistered")
        ]
        _ = try await worker.settle([settlement])
        #expect(try await fixture.store.read { try $0.deviceCount(app: fixture.app, route: nil) } == 1)
    }

    /// Two messages to one device, each with a settlement of its only page, and the address revision that was read.
    private func twoPages(_ fixture: Fixture) async throws -> (settlements: [Settlement], revision: Int64) {
        let worker = Worker(fixture: fixture)
        for _ in 0..<2 { _ = try await fixture.send(.all) }
        var settlements: [Settlement] = []
        var revision: Int64 = 0
        for slice in try await fixture.lease() {
            let page = try await worker.page(of: slice)
            settlements.append(worker.settlement(slice, page))
            revision = page.revisions[0]
        }
        try #require(settlements.count == 2)
        return (settlements, revision)
    }

    @Test(
        "a device that moved to the other environment is not retired for an answer from its former one",
        arguments: StoreUnderTest.allCases)
    func retirementAfterMove(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 1)
        let (pages, revision) = try await twoPages(fixture)
        var settlements = pages
        settlements[0].moves = [.init(key: 1, revision: revision, route: .apnsSandbox)]
        settlements[1].retirements = [
            .init(key: 1, revision: revision, notAfter: fixture.now, reason: "Unregistered")
        ]
        for settlement in settlements {
            #expect(try await Worker(fixture: fixture).settle([settlement])[0].isApplied)
        }
        let device = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(1)) }
        #expect(device?.environment == .sandbox && device?.retirement == nil)
    }

    @Test(
        "a device that was retired or has another address meanwhile is not moved to the other environment",
        arguments: StoreUnderTest.allCases, [true, false])
    func lateMove(_ engine: StoreUnderTest, isRetired: Bool) async throws {
        let fixture = try await populated(engine, 1)
        let (pages, revision) = try await twoPages(fixture)
        var settlements = pages
        settlements[1].moves = [.init(key: 1, revision: revision, route: .apnsSandbox)]
        if isRetired {
            settlements[0].retirements = [
                .init(key: 1, revision: revision, notAfter: fixture.now, reason: "Unregistered")
            ]
        } else {
            try await fixture.register(1, address: Fixture.address(7), topics: ["a"])
        }
        for settlement in settlements {
            #expect(try await Worker(fixture: fixture).settle([settlement])[0].isApplied)
        }
        let device = try await fixture.store.read { try $0.device(app: fixture.app, id: Fixture.deviceID(1)) }
        #expect(device?.environment == .production && (device?.retirement != nil) == isRetired)
    }

    @Test("a message of which nothing was tried before its expiry is expired", arguments: StoreUnderTest.allCases)
    func expiry(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 5)
        let (id, _) = try await fixture.send(.all, lifeSeconds: 0)
        let slice = try #require(try await fixture.lease().first)
        _ = try await Worker(fixture: fixture).run(slice, outcome: .expired)
        #expect(try await fixture.state(id) == .expired)
        let (other, _) = try await fixture.send(.all)
        let otherSlice = try #require(try await fixture.lease().first)
        _ = try await Worker(fixture: fixture).run(otherSlice, outcome: .suppressed)
        #expect(try await fixture.state(other) == .sent)
    }

    @Test("a released slice is ready at once or at the stated time", arguments: StoreUnderTest.allCases)
    func release(_ engine: StoreUnderTest) async throws {
        let fixture = try await populated(engine, 5)
        let worker = Worker(fixture: fixture)
        _ = try await fixture.send(.all)
        let first = try #require(try await fixture.lease().first)
        func release(_ slice: Slice, _ readyAt: Timestamp?) -> Settlement {
            Settlement(of: slice, by: "me", next: .release(readyAt: readyAt))
        }
        #expect(try await worker.settle([release(first, nil)])[0].isApplied)
        let second = try #require(try await fixture.lease().first)
        #expect(try await worker.settle([release(second, fixture.now + .seconds(5))])[0].isApplied)
        #expect(try await fixture.lease().isEmpty)
        #expect(try await fixture.store.read { try $0.census().slicesWaiting } == 1)
    }
}
