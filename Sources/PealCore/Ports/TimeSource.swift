internal import Synchronization

/// The only clock. In production it reads the system clock; tests advance one manually.
package protocol TimeSource: Sendable {
    /// Wall clock: what is stored and shown.
    var now: Timestamp { get }
    /// Time since some fixed instant on a clock that never jumps and counts suspension: leases and deadlines.
    var uptime: Duration { get }
    /// How long in total this process could not run when it should have: it was stopped, or the machine was overloaded.
    /// A caller that waits for another machine's answer extends its wait by what was added meanwhile. It only grows.
    var lag: Duration { get }
    /// Suspends for `duration`; throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
    /// Whether leases may be compared with the wall clock: several servers share it, and it has not been set for as
    /// long as they need to notice and to extend their leases.
    func isSteady() async -> Bool
}

/// What the wall clock showed at uptime 0, which changes when the clock is set.
package struct ClockOffset: Sendable {
    /// The clocks of servers on one database differ by less, except for a minute after the database's clock was set.
    package static let toleranceSeconds: Int64 = 300

    private var offset: Timestamp

    package init(_ time: any TimeSource) { offset = time.now - time.uptime }

    /// How far the clock was set since the last call; negative if it was set back.
    package mutating func step(_ time: any TimeSource) -> Duration {
        let step = time.now - time.uptime - offset
        offset = offset + step
        return step
    }
}

/// Wakes one loop. A `set` without a waiter is kept for the next `wait`; several count as one.
package final class Signal: Sendable {
    package init() {}

    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package func set() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            if let waiter = state.waiter.take() { return waiter }
            state.isSet = true
            return nil
        }?.resume()
    }

    /// Returns when set, or when the task is cancelled. One caller at a time.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if state.isSet || Task.isCancelled {
                        state.isSet = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume()
        }
    }

    /// Returns when set, at the latest after `duration`.
    package func wait(atMost duration: Duration, on time: any TimeSource) async {
        await time.race(atMost: duration) { await self.wait() }
    }
}

extension TimeSource {
    package var lag: Duration { .zero }
    package func isSteady() async -> Bool { true }

    /// Runs `operation`, which must end when it is cancelled, and cancels it after `duration`.
    package func race(atMost duration: Duration, _ operation: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.sleep(for: duration) }
            group.addTask { await operation() }
            await group.next()
            group.cancelAll()
        }
    }

    /// The result of `operation`; nil if it takes longer than `duration`, after which it continues by itself.
    package func value<R: Sendable>(
        within duration: Duration, _ operation: @escaping @Sendable () async -> R
    ) async -> R? {
        let (results, arrival) = AsyncStream.makeStream(of: R.self)
        // Unstructured: whoever waits for a task or for a read of the store waits to its end.
        Task {
            arrival.yield(await operation())
            arrival.finish()
        }
        return await withTaskGroup(of: R?.self) { group in
            group.addTask {
                for await result in results { return result }
                return nil
            }
            group.addTask {
                try? await self.sleep(for: duration)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
