internal import Dispatch
package import PealCore
internal import Synchronization

/// Evaluates experiments and caches slow reports: a report is reused until its age is `ageFactor` times the time that
/// it took, at most `ageMax`. Concurrent requests for a report share one evaluation.
package final class ExperimentReports: Sendable {
    private static let ageFactor = 20
    private static let ageMax = Duration.seconds(600)
    /// Reports that took less are not kept.
    private static let shortTime = Duration.milliseconds(500)
    private static let keptMax = 64
    /// So many displays of an app describe when its users open messages.
    private static let contextsMax = 20_000
    /// A large experiment takes seconds, and requests need the threads of Swift's pool, of which there are only as many
    /// as processors.
    private static let queue = DispatchQueue(label: "peal.experiments")

    private struct Name: Hashable {
        let app: AppKey
        let campaign: String
        let share: Double
    }

    private struct Kept {
        let report: ExperimentReport?
        let madeAt: Duration
        let cost: Duration
    }

    private struct State {
        var kept: [Name: Kept] = [:]
        var running: [Name: Task<ExperimentReport?, any Error>] = [:]
    }

    private let store: any Store
    private let time: any TimeSource
    private let state = Mutex(State())

    package init(store: any Store, time: any TimeSource) {
        self.store = store
        self.time = time
    }

    /// The report of a campaign's experiment; nil if it has none.
    package func report(_ campaign: String, of app: App) async throws -> ExperimentReport? {
        let name = Name(app: app.key, campaign: campaign, share: app.settings[.experimentShare])
        enum Step { case kept(ExperimentReport?), running(Task<ExperimentReport?, any Error>) }
        let uptime = time.uptime
        let step = state.withLock { state -> Step in
            if let kept = state.kept[name], uptime - kept.madeAt < min(kept.cost * Self.ageFactor, Self.ageMax) {
                return .kept(kept.report)
            }
            if let task = state.running[name] { return .running(task) }
            // Unstructured: all waiting requests share it, and it continues if the first of them is cancelled.
            let task = Task { try await self.make(name) }
            state.running[name] = task
            return .running(task)
        }
        switch step {
        case .kept(let report): return report
        case .running(let task): return try await task.value
        }
    }

    private func make(_ name: Name) async throws -> ExperimentReport? {
        defer { state.withLock { $0.running[name] = nil } }
        let begun = time.uptime
        let now = time.now
        let facts = try await store.read(.heavy) {
            try $0.experiment(app: name.app, campaign: name.campaign, now: now)
        }
        let labels = facts == nil ? [] : try await labels(name, now: now)
        let report = await withCheckedContinuation { continuation in
            Self.queue.async {
                var report = facts.map { ExperimentReport($0, share: name.share) }
                if !labels.isEmpty { report?.contexts = ContextMap(labels) }
                continuation.resume(returning: report)
            }
        }
        let end = time.uptime
        keep(Kept(report: report, madeAt: end, cost: end - begun), name)
        return report
    }

    /// The campaign's displays among the app's newest ones with a context.
    private func labels(_ name: Name, now: Timestamp) async throws -> [MomentLabel] {
        try await store.newest(Self.contextsMax) {
            try $0.labels(app: name.app, after: $1, limit: Limits.labelsPerRead, now: now)
        }.filter { $0.campaign.utf8.elementsEqual(name.campaign.utf8) }
    }

    private func keep(_ made: Kept, _ name: Name) {
        state.withLock { state in
            state.kept[name] = made.cost < Self.shortTime ? nil : made
            guard state.kept.count > Self.keptMax else { return }
            if let oldest = state.kept.min(by: { $0.value.madeAt < $1.value.madeAt }) { state.kept[oldest.key] = nil }
        }
    }
}
