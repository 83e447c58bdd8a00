import PealCore
import PealTesting
import Synchronization

/// A store from which a process can be cut off, as if it had died: nothing that it writes afterwards arrives.
final class SeveredStore: WrappingStore {
    let store: any Store
    private let isCut = Mutex(false)
    private let lostAnswers = Mutex(0)

    init(_ store: any Store) { self.store = store }

    func cut() { isCut.withLock { $0 = true } }

    /// Accepts writes again, as after an outage.
    func restore() { isCut.withLock { $0 = false } }

    /// Loses the answers to the next `count` settling commits.
    func loseAnswers(_ count: Int) { lostAnswers.withLock { $0 = count } }

    private func check() throws {
        if isCut.withLock({ $0 }) { throw PealError(.unavailable, "the process is dead") }
    }

    func chainAudit() async throws {
        try check()
        try await store.chainAudit()
    }

    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R {
        try check()
        return try await store.read(lane, body)
    }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        try check()
        let result = try await store.write(lane) { [self] writer in
            try check()
            return try body(writer)
        }
        let isLost = lostAnswers.withLock { count in
            defer { if lane == .settle, count > 0 { count -= 1 } }
            return lane == .settle && count > 0
        }
        if isLost { throw PealError(.unavailable, "the answer to the commit was lost") }
        return result
    }
}
