internal import HTTPTypes
internal import PealCore
internal import Synchronization

/// Holds off the repetition of a request that still runs, and answers one that would be refused by now, as a send whose
/// expiry has passed, with what it was told the first time.
struct Repetitions: Sendable {
    private let store: any Store
    private let running = Running()

    init(store: any Store) { self.store = store }

    private struct Name: Hashable {
        let scope: [UInt8]
        let key: String
    }

    private final class Running: Sendable {
        let names = Mutex<Set<Name>>([])
    }

    /// - Throws: `conflict` while the first one runs; else what `handler` throws.
    func once(
        _ request: IdempotentRequest, now: Timestamp, handler: () async throws -> Answer
    ) async throws -> Answer {
        let name = Name(scope: request.scope, key: request.key)
        guard running.names.withLock({ $0.insert(name).inserted }) else {
            throw PealError(
                .conflict, "a request with this Idempotency-Key is still running", retryAfterSeconds: 1)
        }
        defer { running.names.withLock { _ = $0.remove(name) } }
        do {
            return try await handler()
        } catch let refusal as PealError where refusal.code.httpStatus < 500 && refusal.code != .idempotencyMismatch {
            guard let kept = try await store.answer(keptFor: request, now: now) else { throw refusal }
            return Answer(kept)
        }
    }
}
