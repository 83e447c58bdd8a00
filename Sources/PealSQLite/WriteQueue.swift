internal import PealCore
internal import Synchronization

/// The writes that wait, by lane.
final class WriteQueue: Sendable {
    private struct State {
        var lanes: [[WriteItem]] = Array(repeating: [], count: WriteLane.allCases.count)
        var isDraining = false
        var isClosed = false
        var count: Int { lanes.reduce(0) { $0 + $1.count } }
    }

    private let state = Mutex(State())

    /// Puts a write in. Returns whether the caller must start the drain.
    /// - Throws: `rate_limited` when too many wait; `unavailable` when the store is closed.
    func put(_ item: WriteItem) throws(PealError) -> Bool {
        let result = state.withLock { state -> Result<Bool, PealError> in
            if state.isClosed { return .failure(SQLiteFailure.unavailable) }
            guard state.count < Limits.writerItemsWaitingMax else {
                return .failure(PealError(.rateLimited, "too many writes are waiting", retryAfterSeconds: 1))
            }
            state.lanes[item.lane.rawValue].append(item)
            defer { state.isDraining = true }
            return .success(!state.isDraining)
        }
        return try result.get()
    }

    /// What goes into the next commit; empty = the drain is over.
    func takeBatch() -> [WriteItem] {
        state.withLock { state in
            var batch: [WriteItem] = []
            for lane in WriteLane.allCases {
                let room = min(Self.countMax(lane), Limits.writerItemsPerCommitMax - batch.count)
                let taken = state.lanes[lane.rawValue].prefix(room)
                batch.append(contentsOf: taken)
                state.lanes[lane.rawValue].removeFirst(taken.count)
            }
            if batch.isEmpty { state.isDraining = false }
            return batch
        }
    }

    /// Refuses every later write.
    func close() { state.withLock { $0.isClosed = true } }

    /// Items of a lane in one commit. A settle carries up to a thousand devices, and what is at rest may read much: few
    /// of them keep the commit short, and some room is always left for them however busy the intake is.
    private static func countMax(_ lane: WriteLane) -> Int {
        switch lane {
        case .intake: Limits.writerItemsPerCommitMax - 64
        case .control: 64
        case .settle: 32
        case .rest: 4
        }
    }
}
