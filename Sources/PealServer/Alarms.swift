internal import Foundation
internal import PealCore
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Wakes sleeping tasks from one thread. `Task.sleep` arms a system timer for each call, which stays armed until it
/// fires even if the task is cancelled, and nearly every page in flight is answered long before its deadline.
final class Alarms: Sendable {
    private typealias Sleeper = CheckedContinuation<Void, any Error>

    private struct Alarm {
        let due: ContinuousClock.Instant
        let id: UInt64
    }

    private struct State {
        /// Latest first. Alarms of cancelled tasks remain until they are due or outnumber the others.
        var alarms: [Alarm] = []
        var sleepers: [UInt64: Sleeper] = [:]
        var lastID: UInt64 = 0
        /// When the thread wakes, or woke; nil before it runs.
        var wakesAt: ContinuousClock.Instant?
        var isRunning = false

        mutating func insert(_ alarm: Alarm) {
            if alarms.count > 64 + 2 * sleepers.count { alarms.removeAll { sleepers[$0.id] == nil } }
            var (low, high) = (0, alarms.count)
            while low < high {
                let middle = (low + high) / 2
                if alarms[middle].due > alarm.due { low = middle + 1 } else { high = middle }
            }
            alarms.insert(alarm, at: low)
        }

        mutating func takeDue(at now: ContinuousClock.Instant) -> [Sleeper] {
            var due: [Sleeper] = []
            while let next = alarms.last, next.due <= now || sleepers[next.id] == nil {
                alarms.removeLast()
                if let sleeper = sleepers.removeValue(forKey: next.id) { due.append(sleeper) }
            }
            return due
        }
    }

    private let state = Mutex(State())
    /// The thread waits at its reading end. Semaphores and conditions would wait until a time of the wall clock, which
    /// may be set back.
    private let pipe: (reading: Int32, writing: Int32)
    /// The thread wakes at least this often, because `poll` does not count the time during which the machine sleeps.
    private static let waitMax: Duration = .seconds(1)

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(makePipe(&ends) == 0, "no file descriptors are left at the start of the process")
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        pipe = (ends[0], ends[1])
    }

    /// Alarms that are kept in memory.
    var count: Int { state.withLock(\.alarms.count) }

    /// Suspends for `duration`.
    /// - Throws: `CancellationError`.
    func sleep(for duration: Duration) async throws {
        let due = ContinuousClock.now + duration
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { sleeper in set(Alarm(due: due, id: id), sleeper) }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    private func set(_ alarm: Alarm, _ sleeper: Sleeper) {
        let (isCancelled, mustSignal, mustStart) = state.withLock { state in
            guard !Task.isCancelled else { return (true, false, false) }
            state.sleepers[alarm.id] = sleeper
            state.insert(alarm)
            let mustSignal = state.wakesAt.map { alarm.due < $0 } ?? false
            // An alarm that is due even earlier signals again.
            if mustSignal { state.wakesAt = alarm.due }
            defer { state.isRunning = true }
            return (false, mustSignal, !state.isRunning)
        }
        if isCancelled { sleeper.resume(throwing: CancellationError()) }
        // A full pipe wakes the thread too.
        if mustSignal { withUnsafeBytes(of: UInt8(0)) { _ = write(pipe.writing, $0.baseAddress, 1) } }
        if mustStart { Thread.detachNewThread { [self] in run() } }
    }

    private func run() {
        Thread.current.name = "peal.alarms"
        while true {
            let now = ContinuousClock.now
            let (due, wait) = state.withLock { state in
                let due = state.takeDue(at: now)
                let wait = min(state.alarms.last.map { $0.due - now } ?? Self.waitMax, Self.waitMax)
                state.wakesAt = now + wait
                return (due, wait)
            }
            for sleeper in due { sleeper.resume() }
            waitForSignal(atMost: wait)
        }
    }

    private func waitForSignal(atMost wait: Duration) {
        var descriptor = pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, Int32(wait.milliseconds) + 1) > 0 else { return }
        var signals: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &signals) { _ = read(pipe.reading, $0.baseAddress, $0.count) }
    }
}

private func makePipe(_ ends: inout [Int32]) -> Int32 { pipe(&ends) }
