internal import PealCore
internal import Synchronization

/// Reads something from the store for health checks and metrics, which must be answered whether the store responds or
/// not. One read runs at a time. Its callers wait for a limited time, and then learn that the store is late.
final class StoreProbe<Value: Sendable>: Sendable {
    enum Answer: Sendable {
        case value(Value)
        /// The read failed.
        case failed
        /// The read has not ended yet. The store has not answered for this long.
        case late(Duration)
    }

    private struct State {
        var last: (value: Value, at: Duration)?
        var failedAt: Duration?
        var current: (task: Task<Void, Never>, begunAt: Duration)?
    }

    /// Clients may ask at any rate, so each answer is used for a while.
    private static var lasts: Duration { .milliseconds(500) }
    /// A load balancer waits for a few seconds only.
    private static var patience: Duration { .seconds(2) }

    private let time: any TimeSource
    private let read: @Sendable () async throws -> Value
    private let state = Mutex(State())

    init(time: any TimeSource, _ read: @escaping @Sendable () async throws -> Value) {
        self.time = time
        self.read = read
    }

    /// The value that was read last, if it is not older.
    func last(within age: Duration) -> Value? {
        let now = time.uptime
        return state.withLock { state in state.last.flatMap { now - $0.at < age ? $0.value : nil } }
    }

    func answer() async -> Answer {
        let now = time.uptime
        if let recent = recent(at: now) { return recent }
        let (task, begunAt) = current(at: now)
        let rest = begunAt + Self.patience - now
        let isOver = rest > .zero ? await time.value(within: rest) { await task.value } != nil : false
        let end = time.uptime
        return state.withLock { state in
            if isOver, state.failedAt != nil { return .failed }
            if isOver, let last = state.last { return .value(last.value) }
            return .late(end - min(begunAt, state.last?.at ?? begunAt))
        }
    }

    private func recent(at now: Duration) -> Answer? {
        state.withLock { state in
            if let failedAt = state.failedAt { return now - failedAt < Self.lasts ? .failed : nil }
            return state.last.flatMap { now - $0.at < Self.lasts ? .value($0.value) : nil }
        }
    }

    /// The read that runs, or a new one.
    private func current(at now: Duration) -> (task: Task<Void, Never>, begunAt: Duration) {
        state.withLock { state in
            if let current = state.current { return current }
            // Unstructured: all callers share it, and it continues if the first of them leaves.
            let task = Task { await self.ask() }
            state.current = (task, now)
            return (task, now)
        }
    }

    private func ask() async {
        let value = try? await read()
        let now = time.uptime
        state.withLock { state in
            state.current = nil
            state.failedAt = value == nil ? now : nil
            if let value { state.last = (value, now) }
        }
    }
}

extension StoreProbe.Answer: Equatable where Value: Equatable {}
