internal import Dispatch
package import PealCore
internal import Synchronization

/// Evaluates experiments and caches slow reports. Concurrent requests for a report share one evaluation. Pages do not
/// wait for a slow one: see `soon`.
package final class ExperimentReports: Sendable {
    /// How long a page waits for a report.
    private static let patience = Duration.milliseconds(30)
    /// A page that reloads itself shows a failure, and the next load tries again.
    private static let failureAgeMax = Duration.seconds(10)
    /// Reports that took less are not kept.
    private static let shortTime = Duration.milliseconds(20)
    /// Reports that took less are reused by pages only.
    private static let reusedTime = Duration.milliseconds(500)
    /// This many displays of an app describe when its users open messages.
    private static let contextsMax = 20_000
    /// A large experiment takes seconds, and requests need the threads of Swift's pool, of which there are only as many
    /// as processors.
    private static let queue = DispatchQueue(label: "peal.experiments")

    /// What a page shows of a report.
    package enum Soon: Sendable {
        case made(ExperimentReport?)
        /// The report takes longer; it is kept when it is complete.
        case beingMade
    }

    private struct Name: Hashable {
        let app: AppKey
        let campaign: String
    }

    private struct Failure {
        let error: any Error
        let at: Duration
    }

    private struct State {
        var kept = SlowResults<Name, ExperimentReport?>(ageFactor: 20, countMax: 64)
        /// Evaluations that failed recently.
        var failures: [Name: Failure] = [:]
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
        let name = Name(app: app.key, campaign: campaign)
        if let recent = recent(name), recent.isFresh, recent.cost >= Self.reusedTime { return recent.value }
        return try await evaluation(name).value
    }

    /// The report, if it is complete within `patience` or was made in the last ten minutes. A report that is no longer
    /// fresh is made again in the background.
    package func soon(_ campaign: String, of app: App) async throws -> Soon {
        let name = Name(app: app.key, campaign: campaign)
        let recent = recent(name)
        if let recent, recent.isFresh { return .made(recent.value) }
        if let failure = state.withLock({ $0.failures.removeValue(forKey: name) }),
            time.uptime - failure.at < Self.failureAgeMax
        {
            throw failure.error
        }
        let task = evaluation(name)
        if let recent { return .made(recent.value) }
        return try await withThrowingTaskGroup { group in
            let (results, arrival) = AsyncThrowingStream.makeStream(of: Soon.self)
            // Unstructured: whoever waits for a task waits to its end, and the page does not.
            Task {
                arrival.yield(with: await task.result.map(Soon.made))
                arrival.finish()
            }
            group.addTask {
                for try await result in results { return result }
                return .beingMade
            }
            group.addTask {
                try await self.time.sleep(for: Self.patience)
                return .beingMade
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .beingMade
        }
    }

    /// Whether a report is being made that `soon` would not have at once. The store's reader for large reads is busy
    /// then, so a page should read as little as possible.
    package func isMaking(_ campaign: String, of app: App) -> Bool {
        let name = Name(app: app.key, campaign: campaign)
        let now = time.uptime
        return state.withLock { $0.running[name] != nil && $0.kept.recent(name, at: now) == nil }
    }

    /// Ends the current run of an experiment with its current result, and begins one with another share.
    /// - Throws: `not_found` if no experiment runs; `conflict` if it has that share, or another run has begun.
    package func changeShare(
        of campaign: String, in app: App, to share: Double, _ call: VerbCall,
        reply: @escaping @Sendable (ShareChange) throws -> Reply
    ) async throws -> Reply {
        guard let report = try await report(campaign, of: app), !report.facts.isOver else {
            throw PealError.notFound("experiment")
        }
        return try await changeShare(report, of: campaign, in: app, to: share, call, reply: reply)
    }

    /// Other servers may show the former report for up to ten minutes.
    func changeShare(
        _ report: ExperimentReport, of campaign: String, in app: App, to share: Double, _ call: VerbCall,
        reply: @escaping @Sendable (ShareChange) throws -> Reply
    ) async throws -> Reply {
        let made = try await ExperimentVerbs(store: store).changeShare(
            of: campaign, to: share, after: report.facts.run, report.result, app: app.key, call, reply: reply)
        state.withLock { $0.kept.remove(Name(app: app.key, campaign: campaign)) }
        return made
    }

    private func recent(_ name: Name) -> SlowResults<Name, ExperimentReport?>.Recent? {
        let now = time.uptime
        return state.withLock { $0.kept.recent(name, at: now) }
    }

    /// The evaluation that runs, or a new one.
    private func evaluation(_ name: Name) -> Task<ExperimentReport?, any Error> {
        state.withLock { state in
            if let task = state.running[name] { return task }
            // Unstructured: all waiting requests share it, and it continues if the first of them is cancelled.
            let task = Task {
                do {
                    return try await self.make(name)
                } catch {
                    self.note(error, name)
                    throw error
                }
            }
            state.running[name] = task
            return task
        }
    }

    private func note(_ error: any Error, _ name: Name) {
        let now = time.uptime
        state.withLock { state in
            state.failures = state.failures.filter { now - $0.value.at < Self.failureAgeMax }
            state.failures[name] = Failure(error: error, at: now)
        }
    }

    private func make(_ name: Name) async throws -> ExperimentReport? {
        defer { state.withLock { $0.running[name] = nil } }
        let begun = time.uptime
        let now = time.now
        let facts = try await store.read(.heavy) {
            try $0.experiment(app: name.app, campaign: name.campaign, now: now)
        }
        let material = facts == nil ? nil : try await material(name, now: now)
        let report = await withCheckedContinuation { continuation in
            Self.queue.async {
                var report = facts.map(ExperimentReport.init)
                if let material {
                    if !material.labels.isEmpty { report?.contexts = ContextMap(material.labels) }
                    report?.modelCheck = ModelCheck(
                        material.release, labels: material.labels, journeys: material.journeys)
                }
                continuation.resume(returning: report)
            }
        }
        let end = time.uptime
        state.withLock { state in
            if end - begun < Self.shortTime {
                state.kept.remove(name)
            } else {
                state.kept.keep(report, for: name, from: begun, to: end)
            }
        }
        return report
    }

    private struct Material {
        let release: ModelRelease?
        let labels: [MomentLabel]
        let journeys: [MomentJourney]
    }

    private func material(_ name: Name, now: Timestamp) async throws -> Material {
        let labels = try await labels(name, now: now)
        return try await store.read(.heavy) { store in
            let own = try store.modelRelease(app: name.app, campaign: name.campaign, version: nil)
            let journeys = try store.journeys(app: name.app, after: nil, limit: Limits.labelsPerRead, now: now).items
            return Material(
                release: try own ?? store.modelRelease(app: name.app, campaign: "", version: nil), labels: labels,
                journeys: journeys.filter { $0.campaign.utf8.elementsEqual(name.campaign.utf8) })
        }
    }

    /// The campaign's displays among the app's newest ones with a context.
    private func labels(_ name: Name, now: Timestamp) async throws -> [MomentLabel] {
        try await store.newest(Self.contextsMax) {
            try $0.labels(app: name.app, after: $1, limit: Limits.labelsPerRead, now: now)
        }.filter { $0.campaign.utf8.elementsEqual(name.campaign.utf8) }
    }
}
