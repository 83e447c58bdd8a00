internal import Dispatch
package import Logging
package import PealCore

/// Learns from what phones report: reads the labels of every app once an hour, trains the models that are due and
/// stores them signed. Phones fetch them with their next sync.
package struct LearningService: Sendable {
    private static let pollInterval: Duration = .seconds(5)
    /// Before asking again for a turn that another server has.
    private static let deferral: Duration = .seconds(300)
    /// Training takes long, and requests need the threads of Swift's pool, of which there are only as many as
    /// processors.
    private static let queue = DispatchQueue(label: "peal.learning")

    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let outages: OutageLog

    package init(store: any Store, time: any TimeSource, logger: Logger) {
        (self.store, self.time, self.logger) = (store, time, logger)
        outages = OutageLog(time: time)
    }

    /// Runs until the task is cancelled.
    package func run() async {
        var looks: [AppKey: Duration] = [:]
        repeat {
            do {
                try await round(&looks)
            } catch {
                if outages.isDue(error) {
                    logger.error("moment models could not be trained", metadata: ["error": "\(error)"])
                }
            }
        } while (try? await time.sleep(for: Self.pollInterval)) != nil
    }

    /// - Parameter looks: when to look at each app again, on `TimeSource.uptime`.
    private func round(_ looks: inout [AppKey: Duration]) async throws {
        var last: AppKey = 0
        while let app = try await store.read(.heavy, { [last] in try $0.sharingApp(after: last) }), !Task.isCancelled {
            last = app
            let (now, uptime) = (time.now, time.uptime)
            if let next = looks[app], next > uptime { continue }
            // Before the work, so that an app that fails is not tried again at once.
            looks[app] = uptime + Self.deferral
            do {
                guard try await store.write(.rest, { try $0.beginLearning(app: app, now: now) }) else { continue }
                looks[app] = uptime + .seconds(Limits.learningIntervalSeconds)
                try await learn(app)
            } catch let error where !PealError.isOutage(error) {
                let id = await store.shownID(of: app)
                logger.error(
                    "the moment models of an app could not be trained", metadata: ["app": "\(id)", "error": "\(error)"])
            }
        }
        looks = looks.filter { $0.value > time.uptime }
    }

    /// Reads an app's labels and trains what is due.
    /// - Returns: the models that were released.
    @discardableResult
    package func learn(_ app: AppKey) async throws -> [ModelRelease] {
        let now = time.now
        try await countDisplays(app, now: now)
        guard let material = try await material(app, now: now) else { return [] }
        let lessons = try await withCheckedThrowingContinuation { continuation in
            Self.queue.async { continuation.resume(with: Result { try AppLearner(material).lessons() }) }
        }
        var released: [ModelRelease] = []
        for lesson in lessons { if let release = try await take(lesson, app, now: now) { released.append(release) } }
        for release in released {
            logger.info(
                "a moment model was released",
                metadata: [
                    "campaign": "\(release.draft.campaign)", "version": .stringConvertible(release.draft.version),
                ])
        }
        return released
    }

    /// Stores a lesson, unless the campaign has been rolled back in the meantime.
    private func take(_ lesson: Lesson, _ app: AppKey, now: Timestamp) async throws -> ModelRelease? {
        try await store.write(.rest) { store in
            let campaign = lesson.learning.campaign
            let present = try store.learning(app: app, campaign: campaign) ?? CampaignLearning(campaign: campaign)
            guard present.heldUntil == lesson.learning.heldUntil else { return nil }
            var learning = lesson.learning
            (learning.displays, learning.opens) = (present.displays, present.opens)
            try store.putLearning(learning, app: app)
            return try lesson.draft.map { try store.issueModel($0, app: app, now: now) }
        }
    }

    /// Counts the displays of campaigns that may still calibrate. The counts only grow, although messages are pruned.
    private func countDisplays(_ app: AppKey, now: Timestamp) async throws {
        var last: String?
        while true {
            let names = try await store.read(.heavy) { [last] in
                try $0.campaignIDs(app: app, after: last, limit: Limits.campaignsPerRead)
            }
            for name in names { try await countDisplays(app, name, now: now) }
            guard names.count == Limits.campaignsPerRead else { return }
            last = names.last
        }
    }

    private func countDisplays(_ app: AppKey, _ campaign: String, now: Timestamp) async throws {
        let counted = try await store.read(.heavy) { store -> (shown: Int, opened: Int)? in
            let known = try store.learning(app: app, campaign: campaign)
            guard known?.displays ?? 0 < CampaignPhase.firstDisplays else { return nil }
            let counts = try store.displays(
                app: app, campaign: campaign, limit: CampaignPhase.firstDisplays, now: now)
            return counts.shown > known?.displays ?? 0 || counts.opened > known?.opens ?? 0 ? counts : nil
        }
        guard let counted else { return }
        try await store.write(.rest) { store in
            var learning = try store.learning(app: app, campaign: campaign) ?? CampaignLearning(campaign: campaign)
            learning.displays = max(learning.displays, counted.shown)
            learning.opens = max(learning.opens, counted.opened)
            try store.putLearning(learning, app: app)
        }
    }

    /// The data for the app's training; nil if the app was deleted.
    private func material(_ app: AppKey, now: Timestamp) async throws -> LearningMaterial? {
        let labels = try await store.newest(Limits.labelsMax) {
            try $0.labels(app: app, after: $1, limit: Limits.labelsPerRead, now: now)
        }
        let journeys = try await store.newest(Limits.journeysMax) {
            try $0.journeys(app: app, after: $1, limit: Limits.labelsPerRead, now: now)
        }
        let campaigns = Set(labels.map(\.campaign)).union([""])
        return try await store.read(.heavy) { store -> LearningMaterial? in
            guard let found = try store.app(key: app) else { return nil }
            var material = LearningMaterial(app: found.bundleID ?? found.id.description, labels: labels, now: now)
            material.journeys = journeys
            material.counters = try store.openCounters(app: app, limit: Limits.countersMax)
            material.arrival = try store.arrivalRate(app: app)
            for campaign in campaigns {
                material.learnings[campaign] = try store.learning(app: app, campaign: campaign)
                material.releases[campaign] = try store.modelRelease(app: app, campaign: campaign, version: nil)
                material.formerReleases[campaign] = try store.modelVersions(app: app, campaign: campaign).dropFirst()
                    .compactMap { try store.modelRelease(app: app, campaign: campaign, version: $0) }
            }
            return material
        }
    }
}
