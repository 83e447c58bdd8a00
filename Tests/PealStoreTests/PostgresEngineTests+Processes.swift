import Foundation
import PealCore
import PealPostgres
@testable import PealStore
import PealTesting
import Synchronization
import Testing

extension PostgresEngineTests {
    @Test("one answer is kept for a request that two processes receive at once")
    func idempotency() async throws {
        let first = try await StoreUnderTest.postgres.open()
        let second = try await first.anotherNode()
        let app = try await first.makeApp().key
        for round in 0..<10 {
            let request = IdempotentRequest(scope: [1], key: "key \(round)", digest: [2], lifeSeconds: 60)
            let answers = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for (index, node) in [first, second, first, second].enumerated() {
                    group.addTask {
                        let now = Timestamp(milliseconds: 1_000_000)
                        let call = VerbCall(actor: "test", now: now, request: request)
                        let (reply, _) = try await node.store.commit(
                            .intake, call, reply: { (text: String) in Reply(status: 201, body: Array(text.utf8)) }
                        ) { store in
                            let id = DeviceID(high: UInt64(round), low: UInt64(index))
                            let address = Address(route: .fcm, bytes: Array("\(round) \(index)".utf8))
                            _ = try store.register(
                                DeviceRegistration(id: id, address: address), app: app, now: now)
                            return "\(index)"
                        }
                        return reply.body
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(answers).count == 1, "all callers get the answer of the one that was first")
        }
        let count = try await first.store.read { try $0.deviceCount(app: app, route: nil) }
        #expect(count == 10)
    }

    @Test("a device that registers on many processes at once is one device with one address")
    func registration() async throws {
        let first = try await StoreUnderTest.postgres.open()
        let nodes = [first, try await first.anotherNode(), try await first.anotherNode()]
        let app = try await first.makeApp().key
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    // Five ids and five addresses, in all pairs.
                    let registration = Fixture.registration(
                        number % 5, address: Fixture.address(number / 5 % 5), topics: ["a", "b \(number % 3)"])
                    _ = try await nodes[number % 3].store.write(.control) {
                        try $0.register(registration, app: app, now: Timestamp(milliseconds: Int64(number)))
                    }
                }
            }
            try await group.waitForAll()
        }
        try await first.engine.read { connection in
            let devices = try connection.count("SELECT COUNT(*) FROM device WHERE state = 1")
            let addresses = try connection.count("SELECT COUNT(DISTINCT address) FROM device WHERE state = 1")
            #expect(devices == addresses)
            let strays = try connection.count(
                """
                SELECT COUNT(*) FROM topic_member m JOIN device d ON d.app = m.app AND d.seq = m.seq
                WHERE d.state <> 1 OR d.route <> m.route
                """)
            #expect(strays == 0, "no retired device is in a stream")
            let topics = try connection.count("SELECT COUNT(*) FROM topic")
            #expect(topics == 4)
        }
    }

    @Test("processes that start on an empty database together migrate it once")
    func migrations() async throws {
        let server = try PostgresServer.shared()
        let name = try server.createDatabase()
        let engines = (0..<4).map { _ in PostgresEngine(PostgresSettings(url: server.url(name))) }
        let key = try #require(MasterKey(bytes: Array(repeating: 7, count: 32)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for engine in engines {
                group.addTask { try await SQLStore(engine: engine, masterKey: key).migrate() }
            }
            try await group.waitForAll()
        }
        let count = try await engines[0].read { try $0.count("SELECT COUNT(*) FROM migration") }
        #expect(count == SQLStore.newestSchemaVersion)
        let otherKey = try #require(MasterKey(bytes: Array(repeating: 8, count: 32)))
        await #expect(throws: StoreStartFailure.self) {
            try await SQLStore(engine: engines[1], masterKey: otherKey).migrate()
        }
        for engine in engines { try engine.close() }
        server.dropDatabase(name)
    }

    @Test("numbers are given once, however many processes take them, and a process takes them in blocks")
    func numbers() async throws {
        let first = try await StoreUnderTest.postgres.open()
        let nodes = [first, try await first.anotherNode()]
        let app = try await first.makeApp().key
        let keys = try await withThrowingTaskGroup(of: DeviceKey.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let registration = Fixture.registration(number)
                    return try await nodes[number % 2].store.write(.control) {
                        try $0.register(registration, app: app, now: Timestamp(milliseconds: 1)).device.key
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(keys).count == 200)
        #expect(try #require(keys.max()) < 1000)
    }

    @Test("batches that conflict or are undone leave no gaps between the keys of devices")
    func numbersOfUndoneBatches() async throws {
        let first = try await StoreUnderTest.postgres.open()
        let nodes = [first, try await first.anotherNode()]
        let app = try await first.makeApp().key
        @Sendable func register(_ batch: Int, andUndo isUndone: Bool) async throws -> [DeviceKey] {
            let lane: WriteLane = batch % 4 < 2 ? .batch : .intake
            return try await nodes[batch % 2].store.write(lane) { session -> [DeviceKey] in
                var keys: [DeviceKey] = []
                for number in 0..<100 {
                    let registration = Fixture.registration(batch * 100 + number)
                    keys.append(
                        try session.register(registration, app: app, now: Timestamp(milliseconds: 1)).device.key)
                }
                if isUndone { throw Refusal() }
                return keys
            }
        }
        var keys: [DeviceKey] = []
        try await withThrowingTaskGroup(of: [DeviceKey].self) { group in
            for batch in 0..<16 {
                group.addTask {
                    await #expect(throws: Refusal.self) { try await register(batch, andUndo: true) }
                    return try await register(batch, andUndo: false)
                }
            }
            for try await added in group { keys += added }
        }
        #expect(Set(keys).count == 1600)
        // 1,600, what six undone transactions used at the same time, and a block of 64 in each process.
        let last = try #require(keys.max())
        #expect(last <= 2328)
    }

    /// Sets the series of devices' keys back while a process has the rest of the block from 1 to 64, and registers more
    /// devices than are left of it.
    private func register(afterSettingBackTo last: Int64, losingConnections: Bool) async throws {
        let test = try await StoreUnderTest.postgres.open()
        let app = try await test.makeApp().key
        @Sendable func register(_ number: Int) async throws {
            _ = try await test.store.write(.control) {
                try $0.register(Fixture.registration(number), app: app, now: Timestamp(milliseconds: 1))
            }
        }
        try await register(1)
        let server = try PostgresServer.shared()
        try server.execute("UPDATE app SET device_seq = \(last)", in: test.databaseName)
        if losingConnections {
            try server.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """, in: test.databaseName)
        }
        for number in 2...200 { try await register(number) }
        #expect(try await test.store.read { try $0.deviceCount(app: app, route: nil) } == 200)
    }

    @Test("devices register after a crash in which the database forgot which block of numbers a process has taken")
    func forgottenBlock() async throws { try await register(afterSettingBackTo: 1, losingConnections: true) }

    @Test("a number that another device has is not taken again")
    func numberInUse() async throws { try await register(afterSettingBackTo: 58, losingConnections: false) }

    @Test("two processes that lease at once never lease the same slice")
    func leases() async throws {
        let fixture = try await Fixture(.postgres)
        let other = Fixture(try await fixture.test.anotherNode(), app: fixture.app)
        for number in 1...30 { try await fixture.register(number) }
        for number in 1...30 { _ = try await fixture.send(.devices(number)) }
        let leased = try await withThrowingTaskGroup(of: [Slice.ID].self) { group in
            for number in 0..<20 {
                let node = number % 2 == 0 ? fixture : other
                group.addTask { try await node.lease(limit: 3, owner: "\(number)").map(\.id) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(leased).count == leased.count)
        var all = leased
        while case let more = try await fixture.lease(limit: 30), !more.isEmpty { all += more.map(\.id) }
        #expect(Set(all).count == 30)
        let taken = try await other.store.write(.control) { try $0.takeBackLeases(endedBefore: nil) }
        #expect(taken == 0, "leases of other processes end by time alone")
    }

    @Test("no reader of gates misses a change that another process commits later")
    func gateOrder() async throws {
        let first = try await Fixture(.postgres)
        let second = Fixture(try await first.test.anotherNode(), app: first.app)
        let routes = [Route.apnsProduction, .fcm].map { ActiveRoute(app: first.app, route: $0) }
        let (hasWritten, mayCommit) = (Flag(), Flag())
        @Sendable func close(_ route: ActiveRoute, on node: Fixture, holding: Bool) async throws {
            let gate = RouteGate(route, .stopped, closedUntil: node.now + .seconds(30), reason: "Test")
            try await node.store.write(.control) { writer in
                _ = try writer.setGate(gate)
                guard holding else { return }
                hasWritten.set()
                for _ in 0..<400 where !mayCommit.isSet { usleep(5000) }
            }
        }
        async let slow: Void = close(routes[0], on: first, holding: true)
        try await Polling.wait(for: "the first write") { hasWritten.isSet }
        async let quick: Void = close(routes[1], on: second, holding: false)
        var seen: [ActiveRoute] = []
        var last: Int64 = 0
        func read() async throws {
            let gates = try await second.store.read { [last] in try $0.gates(changedAfter: last, limit: 9) }
            seen += gates.map(\.route)
            last = max(last, gates.map(\.change).max() ?? 0)
        }
        for _ in 0..<20 {
            try await read()
            try await Task.sleep(for: .milliseconds(20))
        }
        mayCommit.set()
        _ = try await (slow, quick)
        try await read()
        #expect(Set(seen) == Set(routes))
    }

    @Test("two processes that end the last two slices of a message at once end it")
    func lastTwoSlices() async throws {
        let first = try await Fixture(.postgres)
        let second = Fixture(try await first.test.anotherNode(), app: first.app)
        try await first.register(1)
        try await first.register(2, route: .fcm)
        var ids: [MessageID] = []
        for _ in 0..<20 { ids.append(try await first.send(.devices(1, 2)).id) }
        let apns = try await first.lease(.apnsProduction, owner: "first")
        let fcm = try await second.lease(.fcm, owner: "second")
        #expect(apns.count == 20 && fcm.count == 20)
        try await withThrowingTaskGroup(of: [DeviceKey].self) { group in
            for slice in apns { group.addTask { try await Worker(fixture: first, owner: "first").run(slice) } }
            for slice in fcm { group.addTask { try await Worker(fixture: second, owner: "second").run(slice) } }
            for try await keys in group { #expect(keys.count == 1) }
        }
        for id in ids { #expect(try await first.state(id) == .sent) }
    }

    @Test("a slice that one process releases while another pauses its message is held")
    func pauseAtRelease() async throws {
        let first = try await Fixture(.postgres)
        let second = Fixture(try await first.test.anotherNode(), app: first.app)
        try await first.register(1)
        for _ in 0..<30 {
            let (id, _) = try await first.send(.devices(1))
            let slice = try #require(try await first.lease().first)
            let release = Settlement(of: slice, by: "me", next: .release(readyAt: nil))
            async let settled = Worker(fixture: first).settle([release])
            async let former = second.store.write(.control) { [app = first.app, now = first.now] in
                try $0.moveMessage(app: app, id: id, from: [.sending], to: .paused, now: now)
            }
            #expect(try await settled.first?.isApplied == true)
            #expect(try await former == .sending)
            let state = try await first.test.engine.read { connection in
                try connection.value("SELECT state FROM slice WHERE message = \(id)", Slice.State.self)
            }
            #expect(state == .held)
        }
    }
}
