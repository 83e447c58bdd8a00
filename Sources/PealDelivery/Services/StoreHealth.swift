internal import PealCore
internal import Synchronization

/// Whether the store accepts writes: receives the results of writes, and decides whether new work may begin. Instants
/// are of `TimeSource.uptime`.
final class StoreHealth: Sendable {
    private struct State {
        var open: [Int: Duration] = [:]
        var lastAttempt = 0
        var writtenAt: Duration?
        /// Since when writes have succeeded without an interruption.
        var writingSince: Duration?
        /// Whether the last write that ended failed.
        var isFailing = false
        /// Why it failed, as far as that is known.
        var reason: String?
    }

    /// A write that takes longer delays new pages: the store is locked, or its disk is overloaded.
    private static let patience: Duration = .seconds(2)
    private static let pollInterval: Duration = .milliseconds(250)
    /// How old the last write may be for the process to be ready.
    static let freshness: Duration = .seconds(15)

    private let time: any TimeSource
    private let state = Mutex(State())

    init(time: any TimeSource) { self.time = time }

    /// Records that a write begins. Returns its number, which `end` takes.
    func begin() -> Int {
        let now = time.uptime
        return state.withLock { state in
            state.lastAttempt += 1
            state.open[state.lastAttempt] = now
            return state.lastAttempt
        }
    }

    /// - Parameter failure: why nothing was written; nil if the store accepted the write.
    func end(_ attempt: Int, failure: (any Error)?) {
        let now = time.uptime
        state.withLock { state in
            let begun = state.open.removeValue(forKey: attempt) ?? now
            state.isFailing = failure != nil
            state.reason = (failure as? PealError)?.message
            if failure != nil {
                state.writingSince = nil
            } else {
                if now - begun > Self.patience { state.writingSince = now }
                state.writingSince = state.writingSince ?? now
                state.writtenAt = now
            }
        }
    }

    /// Whether the last write succeeded, and none is stuck.
    var isWriting: Bool {
        let now = time.uptime
        return state.withLock { state in
            !state.isFailing && !state.open.values.contains { now - $0 > Self.patience }
        }
    }

    /// Whether a write succeeded after `instant`.
    func hasWritten(since instant: Duration) -> Bool { state.withLock { $0.writtenAt.map { $0 > instant } ?? false } }

    /// Whether writes have succeeded for `duration` without an interruption. After an outage, other processes need this
    /// time to settle their work and extend their leases.
    func hasBeenWriting(for duration: Duration) -> Bool {
        let now = time.uptime
        return isWriting && state.withLock { $0.writingSince.map { now - $0 >= duration } ?? false }
    }

    /// Whether nothing was written for `duration`.
    func isIdle(for duration: Duration) -> Bool {
        let now = time.uptime
        return state.withLock { $0.writtenAt.map { now - $0 >= duration } ?? true }
    }

    /// Why the store is not ready; nil if it wrote recently.
    var failure: String? {
        guard isWriting else {
            return "the store does not accept writes" + (state.withLock { $0.reason.map { ": \($0)" } } ?? "")
        }
        return isIdle(for: Self.freshness) ? "nothing was written for \(Self.freshness)" : nil
    }

    /// Returns when writes succeed or the process stops.
    func untilWriting(_ stop: StopSwitch) async {
        while !isWriting, !stop.isOn { try? await time.sleep(for: Self.pollInterval) }
    }
}
