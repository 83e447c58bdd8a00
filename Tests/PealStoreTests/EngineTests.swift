import Foundation
import PealCore
import PealSQLite
import PealStore
import PealTesting
import Testing

@Suite("SQLite engine")
struct EngineTests {
    private struct Refusal: Error {}

    @Test("a failing write undoes itself and no other of its commit")
    func groupCommit() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let results = await withTaskGroup(of: (Int, Bool).self) { group in
            for number in 0..<200 {
                group.addTask {
                    do {
                        try await test.store.write(.intake) { session in
                            try session.setSetting("n\(number)", [1])
                            if number % 10 == 0 { throw Refusal() }
                        }
                        return (number, true)
                    } catch {
                        return (number, !(error is Refusal))
                    }
                }
            }
            return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
        }
        for number in 0..<200 {
            let isStored = try await test.store.read { try $0.setting("n\(number)") != nil }
            #expect(results[number] == (number % 10 != 0))
            #expect(isStored == (number % 10 != 0))
        }
    }

    @Test("a write continues when its task is cancelled")
    func cancellation() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await test.store.write(.settle) { try $0.setSetting("kept", [1]) }
        }
        try await task.value
        #expect(try await test.store.read { try $0.setting("kept") } == [1])
    }

    @Test("above the limit of waiting writes callers are asked to retry")
    func tooMany() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let gate = DispatchSemaphore(value: 0)
        async let first: Void = test.store.write(.control) { _ in gate.wait() }
        let refusals = await withTaskGroup(of: PealError?.self) { group in
            for _ in 0..<Limits.writerItemsWaitingMax + 1000 {
                group.addTask {
                    do {
                        try await test.store.write(.rest) { _ in }
                        return nil
                    } catch {
                        // The first refusal shows the limit; the writer may go on.
                        gate.signal()
                        return error as? PealError
                    }
                }
            }
            return await group.reduce(into: [PealError]()) { if let refusal = $1 { $0.append(refusal) } }
        }
        try await first
        #expect(!refusals.isEmpty)
        #expect(Set(refusals.map(\.code)) == [.rateLimited])
        #expect(Set(refusals.map(\.retryAfterSeconds)) == [1])
    }

    @Test("a full disk refuses the write as unavailable, and later ones succeed when there is room")
    func fullDisk() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let value = [UInt8](repeating: 1, count: 1024 * 1024)
        func limit(_ pages: Int64) async throws {
            try await test.engine.write(.control) {
                _ = try $0.value("PRAGMA max_page_count = \(name: "\(pages)")", Int.self)
            }
        }
        let pages = try await test.engine.read { try $0.value("PRAGMA page_count", Int64.self) }
        try await limit(try #require(pages) + 10)
        let error = await #expect(throws: PealError.self) {
            try await test.store.write(.intake) { try $0.setSetting("large", value) }
        }
        #expect(error?.code == .unavailable)
        #expect(try await test.store.read { try $0.setting("large") } == nil)
        try await limit(1_000_000)
        try await test.store.write(.intake) { try $0.setSetting("large", value) }
        #expect(try await test.store.read { try $0.setting("large") } == value)
    }

    @Test("a closed store answers that it is unavailable")
    func closed() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        try test.store.close()
        for lane in WriteLane.allCases {
            let error = await #expect(throws: PealError.self) {
                try await test.store.write(lane) { try $0.setSetting("x", [1]) }
            }
            #expect(error?.code == .unavailable)
        }
        let error = await #expect(throws: PealError.self) { try await test.store.read { _ = try $0.setting("x") } }
        #expect(error?.code == .unavailable)
        await #expect(throws: PealError.self) { _ = try await test.store.hasNewestSchema() }
    }

    @Test("parameters are bound by name, in any order")
    func parameterNames() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let row = try await test.engine.read { connection in
            let sql = SQL(text: "SELECT $2, $1, $2, $3", values: [.int(1), .text("zwei"), .null(.bytes)])
            return try connection.first(sql) { row -> (String, Int64, String, Bool) in
                (try row.next(), try row.next(), try row.next(), try row.next(String?.self) == nil)
            }
        }
        #expect(try #require(row) == ("zwei", 1, "zwei", true))
        await #expect(throws: PealError.self) {
            try await test.engine.read { try $0.query("SELECT $2", [.int(1)]) { _ in } }
        }
    }

    @Test("empty texts and bytes are not NULL")
    func emptyValues() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let row = try await test.engine.read { connection in
            try connection.first("SELECT \(""), \([UInt8]()), \(String?.none)") { row in
                try [row.next(String?.self) == nil, row.next([UInt8]?.self) == nil, row.next(String?.self) == nil]
            }
        }
        #expect(row == [false, false, true])
    }

    @Test("one statement may run inside its own answer")
    func nested() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let sum = try await test.engine.read { connection in
            let sql = "SELECT 1 UNION ALL SELECT 2"
            var sum: Int64 = 0
            try connection.query(sql, []) { outer in
                try connection.query(sql, []) { sum += $0.int(0) * outer.int(0) }
            }
            return sum
        }
        #expect(sum == 9)
    }

    @Test("a batch returns how many rows each of its rows changed")
    func batchCounts() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let counts = try await test.engine.write(.control) { connection in
            try connection.execute("INSERT INTO setting (name, value) VALUES ('a', $1), ('b', $1)", [.bytes([1])])
            return try connection.execute(
                "UPDATE setting SET value = $2 WHERE name = $1 OR $1 = 'both' AND name <> 'master_key_check'",
                rows: [
                    [.text("a"), .bytes([2])], [.text("none"), .bytes([3])], [.text("both"), .bytes([4])],
                ])
        }
        #expect(counts == [1, 0, 2])
    }

    @Test("a database is opened by one process only")
    func lock() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let error = #expect(throws: StoreStartFailure.self) { try SQLiteEngine(path: test.path) }
        #expect(error?.description == "the database \(test.path) is in use by another process; stop it first")
    }

    #if os(Linux)
        @Test("a second process is refused even if someone deleted the file of the lock")
        func deletedLock() async throws {
            let test = try await StoreUnderTest.sqlite.open()
            try FileManager.default.removeItem(atPath: test.path + ".lock")
            let error = #expect(throws: StoreStartFailure.self) { try SQLiteEngine(path: test.path) }
            #expect(error?.description == "the database \(test.path) is in use by another process; stop it first")
            #expect(error?.isInUse == true)
        }
    #endif

    @Test("refuses writes while the database file is not at its path")
    func movedFile() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let elsewhere = test.path + ".moved"
        try FileManager.default.moveItem(atPath: test.path, toPath: elsewhere)
        for replaces in [false, true] {
            if replaces { try Data().write(to: URL(fileURLWithPath: test.path)) }
            let error = await #expect(throws: PealError.self) {
                try await test.store.write(.control) { try $0.setSetting("x", [1]) }
            }
            #expect(error?.code == .unavailable)
            #expect(error?.message.hasPrefix("the database file was moved") == true)
        }
        try FileManager.default.removeItem(atPath: test.path)
        try FileManager.default.moveItem(atPath: elsewhere, toPath: test.path)
        try await test.store.write(.control) { try $0.setSetting("x", [2]) }
        #expect(try await test.store.read { try $0.setting("x") } == [2])
    }

    @Test("a path that cannot be opened is refused with one line")
    func badPath() throws {
        let error = #expect(throws: StoreStartFailure.self) { try SQLiteEngine(path: "/nowhere/peal.db") }
        #expect(error?.description.contains("\n") == false)
    }

    @Test("a database newer than the program is refused")
    func tooNew() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        #expect(try await test.store.hasNewestSchema())
        let version = try await test.store.schemaVersion()
        try await test.engine.write(.control) { connection in
            _ = try connection.execute("INSERT INTO migration (version) VALUES ($1)", [.int(version + 1)])
        }
        #expect(try await !test.store.hasNewestSchema())
        let error = await #expect(throws: StoreStartFailure.self) { try await test.store.migrate() }
        #expect(
            error?.description
                == "the database has schema \(version + 1), but this program supports only schemas up to \(version); "
                + "use a newer program")
    }

    @Test("the master key next to a database is created once, is private, and must exist afterwards")
    func masterKeyFile() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let file = MasterKey.file(besideDatabase: test.path)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let again = try MasterKey.loadOrCreate(besideDatabase: test.path)
        #expect(again.hash("x") == test.masterKey.hash("x"))
        for loose in [0o640, 0o604, 0o666] {
            try FileManager.default.setAttributes([.posixPermissions: loose], ofItemAtPath: file)
            let failure = #expect(throws: StoreStartFailure.self) { try MasterKey.load(file) }
            #expect(failure?.description.contains("chmod 600") == true, "\(String(describing: failure))")
        }
        try FileManager.default.removeItem(atPath: file)
        #expect(throws: StoreStartFailure.self) { try MasterKey.loadOrCreate(besideDatabase: test.path) }
        try Data("short".utf8).write(to: URL(filePath: file))
        #expect(throws: StoreStartFailure.self) { try MasterKey.loadOrCreate(besideDatabase: test.path) }
        #expect(MasterKey(base64: "AAAA") == nil)
        #expect(MasterKey(base64: Data(repeating: 7, count: 32).base64EncodedString() + "\n") != nil)
    }

    @Test("what was acknowledged is there after a restart, and every lease is taken back")
    func restart() async throws {
        var fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...3000, topics: ["a"])
        let (id, _) = try await fixture.send(.topics("a"))
        let slice = try #require(try await fixture.lease().first)
        let worker = Worker(fixture: fixture)
        let page = try await worker.page(of: slice)
        #expect(try await worker.settle([worker.settlement(slice, page)])[0].isApplied)
        fixture = try await fixture.reopened()
        #expect(try await fixture.state(id) == .sending)
        #expect(try await fixture.lease().isEmpty)
        let count = try await fixture.store.write(.control) { try $0.takeBackLeases(endedBefore: nil) }
        #expect(count == 1)
        let rest = try await Worker(fixture: fixture, owner: "restarted").run()
        #expect(rest == Array(page.through + 1...3000))
        #expect(try await fixture.state(id) == .sent)
    }

    @Test("a copy of a database with rows in every table is sound, and one with a changed page is not")
    func backup() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        try await PruningTests.fill(try await PruningTests.tables(test), app: 1, 1, test)
        try test.close()
        let copy = test.path + ".copy"
        try SQLiteBackup.write(test.path, to: copy)
        #expect(try SQLiteBackup.check(copy, as: "the copy") == SQLStore.newestSchemaVersion)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
        try file.seek(toOffset: 20 * 4096)
        try file.write(contentsOf: [UInt8](repeating: 0xFF, count: 4096))
        try file.close()
        #expect(throws: StoreStartFailure.self) { try SQLiteBackup.check(copy, as: "the copy") }
    }

    @Test("the file is created with the settings that cannot change later, and shrinks after deletions")
    func fileForm() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        func pragma(_ name: String) async throws -> Int64? {
            try await test.engine.write(.rest) { try $0.value("PRAGMA \(name: name)") }
        }
        #expect(try await pragma("page_size") == 4096)
        #expect(try await pragma("auto_vacuum") == 2)
        #expect(try await pragma("synchronous") == 2)
        #expect(try await pragma("wal_autocheckpoint") == 0)
        let value = [UInt8](repeating: 1, count: 4 * 1024 * 1024)
        try await test.store.write(.control) { session in
            for number in 0..<4 { try session.setSetting("\(number)", value) }
        }
        let full = try #require(try await pragma("page_count"))
        try await test.engine.write(.rest) { _ = try $0.execute("DELETE FROM setting WHERE LENGTH(value) > 1000", []) }
        for _ in 0..<6 { _ = try await pragma("page_count") }
        #expect(try #require(try await pragma("page_count")) < full - 2000)
    }
}

@Suite("Lists of statements")
struct StatementListTests {
    @Test("different statements run in order, after what was posted", arguments: StoreUnderTest.allCases)
    func order(_ store: StoreUnderTest) async throws {
        let test = try await store.open()
        let (counts, rows) = try await test.engine.write(.settle) { connection in
            try connection.post("INSERT INTO setting (name, value) VALUES ('a', \([UInt8(1)]))")
            let counts = try connection.execute([
                "UPDATE setting SET value = \([UInt8(2)]) WHERE name = 'a'",
                "INSERT INTO setting (name, value) VALUES ('b', \([UInt8(3)]))",
                "DELETE FROM setting WHERE name IN ('a', 'c')",
            ])
            try connection.post("INSERT INTO setting (name, value) VALUES ('d', \([UInt8(4)]))")
            var rows: [String] = []
            try connection.query([
                "SELECT name FROM setting WHERE name IN ('a', 'b', 'd') ORDER BY name",
                "SELECT name FROM setting WHERE name = \("none")",
                "UPDATE setting SET value = \([UInt8(5)]) WHERE name = \("b") RETURNING name",
            ]) { index, row in rows.append("\(index) \(row.text(0))") }
            return (counts, rows)
        }
        #expect(counts == [1, 1, 1])
        #expect(rows == ["0 b", "0 d", "2 b"])
        #expect(try await test.store.read { try $0.setting("b") } == [5])
    }

    @Test("a failing statement rolls back the list and the posted statements", arguments: StoreUnderTest.allCases)
    func failure(_ store: StoreUnderTest) async throws {
        let test = try await store.open()
        await #expect(throws: PealError.self) {
            try await test.engine.write(.settle) { connection in
                try connection.post("INSERT INTO setting (name, value) VALUES ('a', \([UInt8(1)]))")
                try connection.execute([
                    "INSERT INTO setting (name, value) VALUES ('b', \([UInt8(1)]))",
                    "INSERT INTO setting (name, value) VALUES ('c', \([UInt8]?.none))",
                ])
            }
        }
        for name in ["a", "b", "c"] { #expect(try await test.store.read { try $0.setting(name) } == nil) }
    }
}
