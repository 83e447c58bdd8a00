package import PealCore
internal import Synchronization

/// A clock that only moves when a test moves it.
package final class ManualTime: TimeSource {
    private struct Sleeper {
        let wakesAt: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Timestamp
        var uptime = Duration.zero
        var lag = Duration.zero
        var sleepers: [UInt64: Sleeper] = [:]
        var cancelled: Set<UInt64> = []
        var lastNumber: UInt64 = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// Starts at 2026-11-21T00:00:00Z by default.
    package init(now: Timestamp = Timestamp(milliseconds: 1_795_219_200_000)) { state = Mutex(State(now: now)) }

    package var now: Timestamp { state.withLock { $0.now } }
    package var uptime: Duration { state.withLock { $0.uptime } }
    package var lag: Duration { state.withLock { $0.lag } }

    /// Moves both clocks as if the process had been suspended meanwhile.
    package func stall(for duration: Duration) {
        state.withLock { $0.lag += duration }
        advance(by: duration)
    }

    /// Sets the wall clock forward, or back by a negative duration.
    package func setClock(by step: Duration) { state.withLock { $0.now = $0.now + step } }

    /// Moves both clocks and wakes the tasks that are due, earliest first.
    package func advance(by duration: Duration) {
        let woken = state.withLock { state -> [Sleeper] in
            state.now = state.now + duration
            state.uptime += duration
            let due = state.sleepers.filter { $0.value.wakesAt <= state.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.wakesAt < $1.wakesAt }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until at least `count` tasks sleep on this clock.
    package func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    package func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { enter(number, duration, $0) }
        } onCancel: {
            cancel(number)
        }
    }

    private func enter(_ number: UInt64, _ duration: Duration, _ continuation: CheckedContinuation<Void, any Error>) {
        let (isCancelled, watchers) = state.withLock { state in
            if state.cancelled.remove(number) != nil { return (true, [CheckedContinuation<Void, Never>]()) }
            state.sleepers[number] = Sleeper(wakesAt: state.uptime + duration, continuation: continuation)
            let satisfied = state.watchers.filter { $0.count <= state.sleepers.count }.map(\.continuation)
            state.watchers.removeAll { $0.count <= state.sleepers.count }
            return (false, satisfied)
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
        for watcher in watchers { watcher.resume() }
    }

    private func cancel(_ number: UInt64) {
        let sleeper = state.withLock { state -> Sleeper? in
            guard let sleeper = state.sleepers.removeValue(forKey: number) else {
                state.cancelled.insert(number)
                return nil
            }
            return sleeper
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
