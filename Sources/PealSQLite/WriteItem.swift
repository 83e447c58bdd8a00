internal import PealCore
internal import PealStore

/// A write that waits for its turn.
struct WriteItem: Sendable {
    let lane: WriteLane
    /// Runs inside the transaction and gives back what wakes the caller once that is durable.
    let run: @Sendable (any SQLConnection) throws -> @Sendable () -> Void
    /// Tells the caller that it came to nothing.
    let fail: @Sendable (any Error) -> Void
}

extension WriteItem {
    init<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R,
        _ continuation: CheckedContinuation<R, any Error>
    ) {
        self.lane = lane
        run = { connection in
            let result = try body(connection)
            return { continuation.resume(returning: result) }
        }
        fail = { continuation.resume(throwing: $0) }
    }
}
