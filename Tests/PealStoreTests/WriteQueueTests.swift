import PealCore
@testable import PealSQLite
import PealStore
import Testing

@Suite("Write queue")
struct WriteQueueTests {
    private func item(_ lane: WriteLane) -> WriteItem { WriteItem(lane: lane, run: { _ in {} }, fail: { _ in }) }

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

    @Test("a closed queue refuses")
    func closed() {
        let queue = WriteQueue()
        queue.close()
        let error = #expect(throws: PealError.self) { try queue.put(item(.intake)) }
        #expect(error?.code == .unavailable)
    }
}
