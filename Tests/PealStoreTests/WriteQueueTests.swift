import Foundation
import PealCore
@testable import PealSQLite
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Write queue")
struct WriteQueueTests {
    fileprivate func item(_ lane: WriteLane) -> WriteItem { WriteItem(lane: lane, run: { _ in {} }, fail: { _ in }) }

    @Test("a commit takes lanes in their order, and keeps room for the last however many wait in the first")
    func order() throws {
        let queue = WriteQueue()
        #expect(try queue.put(item(.rest)), "the first write starts the drain")
        for lane in [WriteLane.settle, .control] { #expect(try !queue.put(item(lane))) }
        for _ in 0..<1000 { _ = try queue.put(item(.intake)) }
        let lanes = queue.takeBatch().map(\.lane)
        #expect(lanes.count <= Limits.writerItemsPerCommitMax)
        #expect(lanes.suffix(3) == [.control, .settle, .rest])
        #expect(lanes.dropLast(3).allSatisfy { $0 == .intake })
        for _ in 0..<4 { _ = queue.takeBatch() }
        #expect(queue.takeBatch().isEmpty)
        #expect(try queue.put(item(.rest)), "the drain had ended")
    }

    @Test("what is put back precedes later writes of its lane")
    func putBack() throws {
        let queue = WriteQueue()
        for _ in 0..<3 { _ = try queue.put(item(.batch)) }
        let batch = queue.takeBatch()
        queue.putBack(Array(batch.dropFirst()))
        for _ in 0..<4 { _ = try queue.put(item(.batch)) }
        _ = try queue.put(item(.intake))
        #expect(queue.takeBatch().map(\.lane) == [.intake, .batch, .batch, .batch, .batch])
        #expect(queue.takeBatch().map(\.lane) == [.batch, .batch])
        #expect(queue.takeBatch().isEmpty)
    }

    @Test("a batch that changed many rows is committed before the next one begins")
    func largeBatches() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let gate = Gate()
        let runs = Mutex(0)
        let held = Task { try await test.engine.write(.control) { _ in gate.wait() } }
        let large = Task {
            try await test.engine.write(.batch) { connection in
                runs.withLock { $0 += 1 }
                _ = try connection.execute(
                    """
                    INSERT INTO word (number, kind, name)
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
                    SELECT i + 1000000, 1, 'x' || i FROM n
                    """, [])
            }
        }
        // In the same transaction, its failure would repeat the large one.
        let failing = Task {
            try await test.engine.write(.batch) { _ in throw PealError(.conflict, "fails") }
        }
        // Nothing shows that both writes wait in the queue. They do after a moment.
        try await Task.sleep(for: .milliseconds(200))
        gate.open()
        try await held.value
        try await large.value
        await #expect(throws: PealError.self) { try await failing.value }
        #expect(runs.withLock { $0 } == 1)
    }

    @Test("a closed queue refuses writes")
    func closed() {
        let queue = WriteQueue()
        queue.close()
        let error = #expect(throws: PealError.self) { try queue.put(item(.intake)) }
        #expect(error?.code == .unavailable)
    }
}

extension WriteQueueTests {
    @Test("a lane that is full refuses only its own writes, and settlements are never refused")
    func bounds() throws {
        let queue = WriteQueue()
        for lane in [WriteLane.intake, .rest] {
            for _ in 0..<Limits.writerItemsWaitingMax { _ = try queue.put(item(lane)) }
            let error = #expect(throws: PealError.self) { try queue.put(item(lane)) }
            #expect(error?.code == .rateLimited)
        }
        for _ in 0...Limits.writerItemsWaitingMax {
            _ = try queue.put(item(.settle))
            _ = try queue.put(item(.control))
        }
        var taken = 0
        for _ in 0...(4 * Limits.writerItemsWaitingMax) {
            let batch = queue.takeBatch()
            if batch.isEmpty { break }
            #expect(batch.count <= Limits.writerItemsPerCommitMax)
            taken += batch.count
        }
        #expect(taken == 4 * Limits.writerItemsWaitingMax + 2)
    }
}

@Suite("Readers")
struct ReadersTests {
    @Test("heavy reads wait for each other, while requests and delivery find a connection")
    func lanes() async throws {
        let test = try await StoreUnderTest.sqlite.open()
        let gate = Gate()
        let heavy = (0..<20).map { _ in
            Task { try await test.store.read(.heavy) { _ in gate.wait() } }
        }
        for lane in [ReadLane.delivery, .request] {
            for _ in 0..<20 { _ = try await test.store.read(lane) { try $0.census() } }
        }
        gate.open()
        for read in heavy { try await read.value }
        #expect(Readers.count(.heavy, processors: 1) == 1)
        #expect(Readers.count(.heavy, processors: 64) == 4)
    }
}

/// Blocks the thread of a read or a write until it is opened.
private final class Gate: Sendable {
    private let lock = NSCondition()
    private let isOpen = Mutex(false)

    func wait() {
        lock.lock()
        while !isOpen.withLock({ $0 }) { lock.wait() }
        lock.unlock()
    }

    func open() {
        lock.lock()
        isOpen.withLock { $0 = true }
        lock.broadcast()
        lock.unlock()
    }
}
