import Foundation
import PealCore
import PealSQLite
import PealStore
import PealTesting
import Synchronization
import Testing

extension EngineTests {
    @Test("the write-ahead log is overwritten while writes continue, and truncated after a long one")
    func checkpoints() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let value = [UInt8](repeating: 1, count: 64 * 1024)
        func logBytes() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: test.path + "-wal")[.size] as? Int ?? .max
        }
        /// Each small write is followed by a rest, in which the log may be restarted or cut.
        func rest(untilBelow megabytes: Int) async throws {
            // Moving the pages takes long if other programs use the disk.
            let deadline = ContinuousClock.now + .seconds(120)
            while try logBytes() > megabytes << 20, ContinuousClock.now < deadline {
                try await test.store.write(.control) { try $0.setSetting("small", [1]) }
            }
            #expect(try logBytes() <= megabytes << 20)
        }
        // 40 rounds write 100 MiB.
        for round in 0..<40 {
            try await test.store.write(.control) { session in
                for number in 0..<40 { try session.setSetting("\(round) \(number)", value) }
            }
        }
        try await rest(untilBelow: 64)
        // While somebody reads, the log cannot be cut.
        let gate = DispatchSemaphore(value: 0)
        let (reads, begun) = AsyncStream.makeStream(of: Void.self)
        async let reader = test.store.read { session in
            _ = try session.setting("small")
            begun.finish()
            gate.wait()
        }
        for await _ in reads {}
        try await test.store.write(.control) { session in
            for number in 0..<1600 { try session.setSetting("large \(number)", value) }
        }
        #expect(try logBytes() > 64 << 20)
        gate.signal()
        try await reader
        try await rest(untilBelow: 1)
        #expect(try await test.store.read { try $0.setting("39 39") } == value)
    }

    @Test("the write-ahead log is restarted at its limit although the writer never rests and has more to move")
    func busyWriter() {
        var limits = CheckpointLimits()
        (limits.pagesBetween, limits.pagesMax) = (100, 1000)
        var plan = CheckpointPlan(limits)
        var actions: [CheckpointPlan.Action] = []
        var pages: Int32 = 0
        // Each commit writes as much as is worth a checkpoint.
        for _ in 0..<40 {
            pages += 100
            plan.committed(pages)
            let action = plan.begin(writerRests: false)
            actions += [action].compactMap(\.self)
            #expect(plan.begin(writerRests: false) == nil)
            switch action {
            case .move?: plan.moved(pages)
            case .force?:
                plan.restarted(isDone: true, isTruncated: false)
                pages = 0
            default: Issue.record("unexpected: \(String(describing: action)) at \(pages)")
            }
            #expect(pages <= limits.pagesMax)
        }
        #expect(actions.count { $0 == .force } == 3)
    }

    @Test("readers that prevent a restart delay the next attempt until enough has been written again")
    func blockedRestart() {
        var limits = CheckpointLimits()
        (limits.pagesBetween, limits.pagesMax) = (100, 1000)
        var plan = CheckpointPlan(limits)
        plan.committed(1010)
        #expect(plan.begin(writerRests: false) == .force)
        plan.restarted(isDone: false, isTruncated: false)
        plan.committed(1020)
        #expect(plan.begin(writerRests: false) == .move)
        plan.moved(1020)
        plan.committed(1110)
        #expect(plan.begin(writerRests: false) == nil)
        plan.committed(1111)
        #expect(plan.begin(writerRests: false) == .force)
        plan.restarted(isDone: true, isTruncated: false)
        plan.committed(99)
        #expect(plan.begin(writerRests: false) == nil)
    }

    @Test("closing while pages are being moved leaves nothing that uses the closed database")
    func closingDuringCheckpoint() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "closing.db").path
        // Each commit is worth a checkpoint, after which the writer looks whether the log can be restarted.
        var limits = CheckpointLimits()
        (limits.pagesBetween, limits.pagesMovedAtRestMax, limits.pagesKeptMax) = (1, 0, 1)
        for round in 0..<100 {
            let engine = try SQLiteEngine(path: path, checkpoints: limits)
            try await engine.write(.control) {
                try $0.execute("CREATE TABLE IF NOT EXISTS closing (id BIGINT PRIMARY KEY, value BLOB)", [])
                let value = [UInt8](repeating: 1, count: 64 * 1024)
                try $0.execute("INSERT INTO closing VALUES ($1, $2)", [.int(round), .bytes(value)])
            }
            try engine.close()
            await #expect(throws: PealError.self) { try await engine.write(.control) { _ in } }
        }
    }

    @Test("a full disk is reported once with SQLite's reason, and once more when there is room")
    func reportedFullDisk() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let lines = Mutex<[String]>([])
        let engine = try SQLiteEngine(path: directory.appending(path: "full.db").path) { line in
            lines.withLock { $0.append(line) }
        }
        func limit(_ pages: Int) async throws {
            try await engine.write(.control) {
                _ = try $0.value("PRAGMA max_page_count = \(name: "\(pages)")", Int.self)
            }
        }
        try await engine.write(.control) {
            _ = try $0.execute("CREATE TABLE filled (id BIGINT PRIMARY KEY, value BLOB)", [])
        }
        try await limit(10)
        let value = [UInt8](repeating: 1, count: 1024 * 1024)
        for number in 0..<3 {
            let error = await #expect(throws: PealError.self) {
                try await engine.write(.intake) {
                    _ = try $0.execute("INSERT INTO filled VALUES ($1, $2)", [.int(number), .bytes(value)])
                }
            }
            #expect(error?.code == .unavailable && error?.message == "the database's disk is full")
        }
        let refused = "the database does not accept writes: SQLite error 13: database or disk is full"
        #expect(lines.withLock(\.self) == [refused])
        try await limit(1_000_000)
        #expect(lines.withLock(\.self) == [refused, "the database accepts writes again"])
        try engine.close()
    }

    @Test("after its write-ahead log was deleted, a database accepts nothing more, and has what it accepted before")
    func deletedLog() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let lines = Mutex<[String]>([])
        let path = directory.appending(path: "peal.db").path
        let engine = try SQLiteEngine(path: path) { line in lines.withLock { $0.append(line) } }
        try await engine.write(.control) {
            _ = try $0.execute("CREATE TABLE kept (id BIGINT PRIMARY KEY)", [])
            _ = try $0.execute("INSERT INTO kept VALUES (1)", [])
        }
        try FileManager.default.removeItem(atPath: path + "-wal")
        for _ in 0..<2 {
            let error = await #expect(throws: PealError.self) {
                try await engine.write(.intake) { _ = try $0.execute("INSERT INTO kept VALUES (2)", []) }
            }
            let text = "the database's write-ahead log was moved, deleted or replaced"
            #expect(error?.code == .unavailable && error?.message.hasPrefix(text) == true)
            #expect(lines.withLock(\.self) == ["the database does not accept writes: \(text)"])
        }
        // What a crash would leave.
        let left = directory.appending(path: "left.db").path
        try FileManager.default.copyItem(atPath: path, toPath: left)
        let restarted = try SQLiteEngine(path: left)
        #expect(try await restarted.read(.brief) { try $0.values("SELECT id FROM kept", Int.self) } == [1])
        try restarted.close()
        try engine.close()
    }

    @Test("a lock that belongs to another user is named by its file")
    func foreignLock() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)")
        // A folder cannot be opened for writing, whoever the user is.
        let lock = directory.appending(path: "peal.db.lock")
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "peal.db").path
        let error = #expect(throws: StoreStartFailure.self) { try SQLiteEngine(path: path) }
        #expect(error?.description == "cannot open the database's lock file \(lock.path): Is a directory")
    }

    @Test("the write-ahead log stays short while many write")
    func manyWriters() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "busy.db").path
        var limits = CheckpointLimits()
        (limits.pagesBetween, limits.pagesMax) = (50, 500)
        let engine = try SQLiteEngine(path: path, checkpoints: limits)
        try await engine.write(.control) {
            _ = try $0.execute("CREATE TABLE busy (id BIGINT PRIMARY KEY, value BLOB)", [])
        }
        let value = [UInt8](repeating: 1, count: 64 * 1024)
        // Eight tasks write 100 MiB in all: some write always waits.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        try await engine.write(.intake) { connection in
                            _ = try connection.execute(
                                "INSERT INTO busy (id, value) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET value = $2",
                                [.int(Int64(task)), .bytes(value)])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        #expect(try #require(size) < 50 << 20)
        try engine.close()
    }
}
