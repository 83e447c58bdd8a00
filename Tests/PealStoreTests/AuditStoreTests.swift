import PealCore
import PealStore
import PealTesting
import Testing

/// The audit log in the store: a chain that shows every change of a row.
@Suite("The audit log", .serialized)
struct AuditStoreTests {
    private static func note(_ fixture: Fixture, _ numbers: ClosedRange<Int>, app: AppID? = nil) async throws {
        for number in numbers {
            let entry = AuditEntry(
                at: fixture.now, actor: Actor(number % 2 == 0 ? "admin" : "k1", name: number % 2 == 0 ? nil : "Ada"),
                address: "192.0.2.1", requestID: "r\(number)", app: app,
                action: number % 3 == 0 ? "key.create" : "keychain.put", object: "object \(number)",
                outcome: number % 5 == 0 ? .refused : .ok)
            try await fixture.store.write(.control) { try $0.audit(entry) }
            fixture.time.advance(by: .seconds(600))
        }
        try await fixture.store.chainAudit()
    }

    /// The numbers of the rows that a search in parts finds, backwards and forwards.
    private static func searched(
        _ fixture: Fixture, _ filter: AuditFilter, among numbersMax: Int64
    ) async throws -> (back: [Int64], forth: [Int64]) {
        var (back, forth): ([Int64], [Int64]) = ([], [])
        var cursor: Int64?
        repeat {
            let part = try await fixture.store.read { [cursor] in
                try $0.auditRows(filter, before: cursor, limit: 9, among: numbersMax)
            }
            back += part.rows.map(\.number)
            cursor = part.next
        } while cursor != nil
        cursor = 0
        while let after = cursor {
            let part = try await fixture.store.read {
                try $0.auditRows(filter, after: after, limit: 9, among: numbersMax)
            }
            forth += part.rows.map(\.number)
            cursor = part.next
        }
        return (back, forth)
    }

    @Test("reads backwards and forwards, filtered by app, time, actor and action", arguments: StoreUnderTest.allCases)
    func reading(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let start = fixture.now
        let app = AppID(high: 1, low: 2)
        try await Self.note(fixture, 1...6)
        try await Self.note(fixture, 7...8, app: app)
        let audit = AuditVerbs(store: fixture.store)
        func objects(_ filter: AuditFilter, before cursor: Int64? = nil, limit: Int = 99) async throws -> [String] {
            try await audit.rows(filter, before: cursor, limit: limit).items.map {
                String($0.entry.object.split(separator: " ")[1])
            }
        }
        let all = try await audit.rows(AuditFilter(), before: nil, limit: 2).items
        #expect(all.map(\.entry.object) == ["object 8", "object 7"])
        #expect(try await objects(AuditFilter(), before: all[1].number, limit: 2) == ["6", "5"])
        #expect(try await objects(AuditFilter(app: app)) == ["8", "7"])
        #expect(try await objects(AuditFilter(from: start + .seconds(1200))) == ["8", "7", "6", "5", "4", "3"])
        #expect(try await objects(AuditFilter(to: start + .seconds(1200))) == ["2", "1"])
        #expect(try await objects(AuditFilter(from: start + .seconds(1), to: start + .seconds(601))) == ["2"])
        #expect(try await objects(AuditFilter(actor: "admin")) == ["8", "6", "4", "2"])
        #expect(try await objects(AuditFilter(actor: "Ada")) == ["7", "5", "3", "1"])
        #expect(try await objects(AuditFilter(action: "key")) == ["6", "3"])
        #expect(try await objects(AuditFilter(action: "key.create")) == ["6", "3"])
        #expect(try await objects(AuditFilter(action: "key.c")) == [])
        for numbersMax in [1, 3, 8] as [Int64] {
            let (back, forth) = try await Self.searched(fixture, AuditFilter(actor: "Ada"), among: numbersMax)
            #expect(back == [7, 5, 3, 1] && forth == [1, 3, 5, 7], "\(numbersMax)")
            let span = AuditFilter(from: start + .seconds(1200), to: start + .seconds(3600), action: "key")
            let (later, sooner) = try await Self.searched(fixture, span, among: numbersMax)
            #expect(later == [6, 3] && sooner == [3, 6], "\(numbersMax)")
        }
        let forwards = try await audit.rows(AuditFilter(), after: 0, limit: 3)
        #expect(forwards.map(\.number) == [1, 2, 3])
        #expect(forwards[0].hash == AuditChain.hash(after: "", AuditRow.content(1, forwards[0].entry)))
        #expect(forwards[1].hash == AuditChain.hash(after: forwards[0].hash, AuditRow.content(2, forwards[1].entry)))
    }

    @Test("holds together when writes of one commit fail", arguments: StoreUnderTest.allCases)
    func failingNeighbours(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (store, now) = (fixture.store, fixture.now)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...300 {
                group.addTask {
                    try? await store.write(.control) { store in
                        let entry = AuditEntry(
                            at: now, actor: Actor("admin"), address: nil, requestID: nil, app: nil,
                            action: "key.create",
                            object: "object \(number)", outcome: .ok)
                        try store.audit(entry)
                        if number.isMultiple(of: 3) { throw PealError(.conflict, "undone") }
                    }
                }
            }
        }
        try await store.chainAudit()
        #expect(try await AuditVerbs(store: store).verify() == .sound(rows: 200))
    }

    @Test(
        "shows every kind of change",
        arguments: [
            ("UPDATE audit SET actor = 'nobody' WHERE number = 3", 3), ("DELETE FROM audit WHERE number = 4", 4),
            ("DELETE FROM audit WHERE number >= 8", 8), ("DELETE FROM audit WHERE number <= 2", 1),
            ("UPDATE audit SET outcome = 'ok' WHERE number = 5", 5),
            ("UPDATE audit SET app_id = NULL WHERE number = 7", 7),
            ("UPDATE audit_mark SET number = 8", 1),
            ("UPDATE audit SET hash = (SELECT hash FROM audit WHERE number = 1) WHERE number = 9", 9),
        ])
    func tampering(statement: String, row: Int) async throws {
        let fixture = try await Fixture(.sqlite)
        try await Self.note(fixture, 1...9, app: AppID(high: 1, low: 2))
        let audit = AuditVerbs(store: fixture.store)
        #expect(try await audit.verify() == .sound(rows: 9))
        try await fixture.test.execute(statement)
        guard case .broken(let number, _) = try await audit.verify() else {
            Issue.record("the change was not noticed")
            return
        }
        #expect(number == Int64(row))
    }

    @Test("that is empty although there are apps was emptied")
    func emptied() async throws {
        let fixture = try await Fixture(.sqlite)
        try await Self.note(fixture, 1...3, app: AppID(high: 1, low: 2))
        let audit = AuditVerbs(store: fixture.store)
        #expect(try await audit.verify() == .sound(rows: 3))
        try await fixture.test.execute("DELETE FROM audit")
        try await fixture.test.execute("DELETE FROM audit_mark")
        guard case .broken(1, _) = try await audit.verify() else {
            Issue.record("the change was not noticed")
            return
        }
    }

    @Test("is checked in parts, and from where it was pruned")
    func parts() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.store.write(.control) { [now = fixture.now] store in
            for number in 1...2500 {
                try store.audit(AuditEntry(at: now, actor: Actor("a"), action: "do", object: "\(number)"))
            }
        }
        let audit = AuditVerbs(store: fixture.store)
        #expect(try await audit.verify() == .sound(rows: 2500))
        fixture.time.advance(by: .seconds(StoreRetention().auditSeconds))
        try await Self.note(fixture, 1...1)
        _ = try await fixture.store.write(.rest) { [now = fixture.now] in try $0.prune(now: now, limit: 700) }
        guard case .sound(let rows) = try await audit.verify() else {
            Issue.record("a pruned log is broken")
            return
        }
        #expect((1801...2501).contains(rows))
    }

    @Test(
        "several processes add entries at once, and none is lost or chained twice", arguments: StoreUnderTest.allCases)
    func concurrency(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let store = fixture.store
        let now = fixture.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...8 {
                group.addTask {
                    for number in 1...25 {
                        try await store.write(.intake) {
                            try $0.audit(
                                AuditEntry(at: now, actor: Actor("a"), action: "do", object: "\(writer) \(number)"))
                        }
                    }
                }
            }
            for _ in 1...3 {
                group.addTask { for _ in 1...20 { try await store.chainAudit() } }
            }
            try await group.waitForAll()
        }
        try await store.chainAudit()
        let audit = AuditVerbs(store: store)
        #expect(try await audit.verify() == .sound(rows: 200))
        let rows = try await audit.rows(AuditFilter(), after: 0, limit: 999)
        #expect(Set(rows.map(\.entry.object)).count == 200)
    }
}
