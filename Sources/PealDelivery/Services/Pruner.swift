internal import Logging
internal import PealCore

/// Deletes data whose retention has ended and completes changes that requests began, in small pieces with pauses, so
/// that no other write waits behind it. It starts with the process and continues as long as there is work.
struct Pruner: Sendable {
    private static let pollInterval: Duration = .seconds(1)
    private static let interval: Duration = .seconds(Limits.pruneIntervalSeconds)
    /// The pause between attempts while the store refuses writes.
    private static let pauseAfterFailure: Duration = .seconds(10)
    /// How many failing messages one round skips, for each kind of work. The next round continues after them.
    private static let skippedMax = 32

    /// What a round does: everything, until it fails.
    private struct Round {
        var steps = PruneStep.allCases
        /// The last message that failed, for each kind of work.
        var skipped: [PruneStep: PruneCursor] = [:]
        var skippedSince: Duration
        var doubt: ClockDoubt

        /// Begins another round. Messages that failed are tried again after a while, but only after all others: these
        /// must be done however many fail.
        mutating func begin(at now: Duration) {
            if now - skippedSince >= DamagedWork.pause {
                // A round ends when there is nothing left to do in the steps that work.
                for step in steps { skipped[step] = nil }
                skippedSince = now
            }
            steps = PruneStep.allCases
        }
    }

    let context: DeliveryContext

    /// Runs until the process stops.
    func run() async {
        let sleeper = context.stop.sleeper()
        var pace = PrunePace()
        var lastRound: Duration?
        var round = Round(skippedSince: context.time.uptime, doubt: ClockDoubt(context.time))
        repeat {
            let now = context.time.uptime
            let isRoundDue = lastRound.map { now - $0 >= Self.interval } ?? true
            if isRoundDue {
                lastRound = now
                round.begin(at: now)
            } else {
                guard round.steps.contains(.remainders), await hasRemainders() else { continue }
            }
            while let pause = await piece(&pace, &round) {
                guard await context.stop.pause(sleeper, atMost: pause) else { return }
            }
        } while await context.stop.pause(sleeper, atMost: Self.pollInterval)
    }

    private func hasRemainders() async -> Bool {
        let now = context.time.now
        return (try? await context.store.read { try $0.hasRemainders(now: now) }) ?? false
    }

    /// - Returns: how long to pause before the next piece; nil when nothing is left.
    private func piece(_ pace: inout PrunePace, _ round: inout Round) async -> Duration? {
        let (now, begun, rows) = (context.time.now, context.time.uptime, pace.rows)
        if round.doubt.isDoubted(context.time) { round.steps.removeAll(where: \.isOfAge) }
        do {
            let count = try await context.store.write(.rest) { [round] in
                try $0.prune(round.steps, now: now, limit: rows, after: round.skipped)
            }
            guard count > 0 else { return nil }
            return pace.pause(after: context.time.uptime - begun)
        } catch {
            guard !PealError.isOutage(error) else {
                context.logFailure("old rows could not be deleted", error)
                return Self.pauseAfterFailure
            }
            let working = await apart(&round, now, rows)
            if working.isEmpty { return Self.pauseAfterFailure }
            round.steps = working
            return pace.pause(after: context.time.uptime - begun)
        }
    }

    /// Does each kind of work in its own write. Returns the kinds that did not fail.
    private func apart(_ round: inout Round, _ now: Timestamp, _ rows: Int) async -> [PruneStep] {
        var working: [PruneStep] = []
        for step in round.steps {
            let works =
                await step == .remainders ? completeRemainders(now, rows) : work(step, &round, now, rows)
            if works { working.append(step) }
        }
        return working
    }

    /// Does one kind of work. A message that fails is found and skipped, so that it does not stop those after it.
    /// Returns whether the step works.
    private func work(_ step: PruneStep, _ round: inout Round, _ now: Timestamp, _ rows: Int) async -> Bool {
        var (room, count) = (rows, 0)
        while true {
            let skipped = round.skipped
            do {
                _ = try await context.store.write(.rest) { [room] in
                    try $0.prune([step], now: now, limit: room, after: skipped)
                }
                return true
            } catch {
                let maySkip = step.isOfMessages && !PealError.isOutage(error)
                if maySkip, room > 1 {
                    room /= 2
                    continue
                }
                context.logger.error(
                    "old rows could not be deleted",
                    metadata: [
                        "rows": "\(step.rawValue)", "error": "\(PealError.message(of: error))",
                    ])
                guard maySkip, count < Self.skippedMax,
                    let failed = try? await context.store.read({
                        try $0.nextToPrune(step, after: skipped[step], now: now)
                    })
                else { return false }
                round.skipped[step] = failed
                (room, count) = (rows, count + 1)
            }
        }
    }
}

extension Pruner {
    /// Completes changes that requests began. One that fails does not stop the others. Returns whether the step works.
    private func completeRemainders(_ now: Timestamp, _ rows: Int) async -> Bool {
        await DamagedWork(store: context.store, lane: .rest, time: context.time, logger: context.logger)
            .work("change", limit: rows) {
                try $0.prune([.remainders], now: now, limit: $1, after: [:])
            } postpone: {
                try $0.postponeRemainder(to: $1, now: now)
            } != nil
    }
}

/// Whether the wall clock was set ahead recently. The clock may be wrong and be set back, so for a while nothing is
/// deleted because of its age.
struct ClockDoubt: Sendable {
    private static let stepMin: Duration = .seconds(3600)
    private static let life: Duration = .seconds(3600)

    private var clock: ClockOffset
    /// On `TimeSource.uptime`.
    private var until: Duration = .zero

    init(_ time: any TimeSource) { clock = ClockOffset(time) }

    mutating func isDoubted(_ time: any TimeSource) -> Bool {
        if clock.step(time) > Self.stepMin { until = time.uptime + Self.life }
        return time.uptime < until
    }
}

/// How many rows the next piece may have: as many as currently take a few milliseconds on this machine.
struct PrunePace: Sendable {
    private static let wanted: Duration = .milliseconds(Limits.pruneMillisecondsWanted)

    private(set) var rows = Limits.pruneRowsMin

    /// Receives how long the last piece took, and returns the pause after it: most of the writer's time is for other
    /// writes.
    mutating func pause(after took: Duration) -> Duration {
        if took > Self.wanted {
            rows = max(Limits.pruneRowsMin, rows / 2)
        } else if took < Self.wanted / 2 {
            rows = min(Limits.pruneRowsMax, rows + rows / 2)
        }
        return max(.milliseconds(10), min(took * 2, .seconds(1)))
    }
}
