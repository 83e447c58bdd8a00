package import Logging
package import PealCore
internal import PealMomentTraining

/// Changes the share of experiments that have a verdict, in apps with the setting `contextpush.apply_decisions`. All
/// servers do it: of two that decide at once one finds another run.
package struct ExperimentDecider: Sendable {
    private static let interval = Duration.seconds(3600)
    /// A run must have had every day of the week.
    private static let runMin = Duration.seconds(7 * 86_400)
    private static let pageSize = 100

    private let store: any Store
    private let reports: ExperimentReports
    private let time: any TimeSource
    private let logger: Logger

    package init(store: any Store, reports: ExperimentReports, time: any TimeSource, logger: Logger) {
        (self.store, self.reports, self.time, self.logger) = (store, reports, time, logger)
    }

    /// Runs until the task is cancelled.
    package func run() async {
        while (try? await time.sleep(for: Self.interval)) != nil {
            do {
                try await decide()
            } catch {
                logger.error("experiments could not be decided", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Applies every verdict that there is now.
    package func decide() async throws {
        var cursor: AppID?
        repeat {
            let apps = try await store.read { [cursor] in try $0.apps(after: cursor, limit: Self.pageSize) }
            for app in apps where app.settings[.appliesDecisions] { try await decide(app) }
            cursor = apps.count == Self.pageSize ? apps.last?.id : nil
        } while cursor != nil && !Task.isCancelled
    }

    private func decide(_ app: App) async throws {
        var last: String?
        repeat {
            let names = try await store.read { [last] in
                try $0.experimentCampaigns(app: app.key, after: last, limit: Self.pageSize)
            }
            for name in names where !Task.isCancelled {
                do {
                    try await decide(name, of: app)
                } catch {
                    logger.error(
                        "an experiment could not be decided",
                        metadata: ["app": "\(app.id)", "campaign": "\(name)", "error": "\(error)"])
                }
            }
            last = names.count == Self.pageSize ? names.last : nil
        } while last != nil && !Task.isCancelled
    }

    private func decide(_ campaign: String, of app: App) async throws {
        guard let run = try await store.read({ try $0.experimentRun(of: campaign, app: app.key) }),
            time.now - run.startedAt >= Self.runMin,
            let report = try await reports.report(campaign, of: app), let share = report.advisedShare
        else { return }
        let call = VerbCall(actor: "experiments", now: time.now)
        do {
            _ = try await reports.changeShare(report, of: campaign, in: app, to: share, call) { _ in
                Reply(status: 200, .null)
            }
        } catch let error as PealError where error.code == .conflict || error.code == .notFound {
            return
        }
        logger.notice(
            "an experiment was decided",
            metadata: [
                "app": "\(app.id)", "campaign": "\(campaign)", "verdict": "\(report.decision.rawValue)",
                "share": .stringConvertible(share),
            ])
    }
}
