package import PealCore
internal import Synchronization

/// Counts what the engine has done since its start. Workers add a page at a time; `/metrics` reads the counts.
package final class DeliveryMetrics: Sendable {
    private let state: Mutex<Snapshot>

    /// The counts at one instant. They only grow, unless a comment says otherwise.
    package struct Snapshot: Sendable, Hashable {
        /// Ended notifications, by provider and outcome.
        package internal(set) var notifications: [Series: Int] = [:]
        /// Ended notifications by app, and by reason if they ended with one. Apps beyond `seriesMax` are counted as app
        /// 0.
        package internal(set) var byApp: [AppSeries: Int] = [:]
        package internal(set) var reasons: [ReasonSeries: Int] = [:]
        /// How long the answers to pages took.
        package internal(set) var answers: [ProviderName: LatencyHistogram] = [:]
        /// Pages given to providers.
        package internal(set) var pages = 0
        /// Settlements written, and those refused because the lease was lost.
        package internal(set) var settles = 0
        package internal(set) var settlesRefused = 0
        /// Writes of settlements that failed and were retried.
        package internal(set) var settlesFailed = 0
        /// Slices that were taken out of work because their settlements could not be stored.
        package internal(set) var slicesQuarantined = 0
        /// Devices deferred for a retry.
        package internal(set) var retries = 0
        /// Devices whose page was settled before their answer arrived.
        package internal(set) var stragglers = 0
        /// Devices sent to again although an earlier request may have reached them.
        package internal(set) var resent = 0
        /// Stalled pages that lent their slot to other routes.
        package internal(set) var pagesLent = 0
        package internal(set) var breakerTrips = 0
        /// Wake-up pushes, and those that the network accepted.
        package internal(set) var wakesSent = 0
        package internal(set) var wakesAccepted = 0
        package internal(set) var leasesTakenBack = 0
        package internal(set) var leasesExtended = 0
        /// Credentials that expire within thirty days, and expired ones: current numbers, which may also shrink.
        package internal(set) var credentialsEnding = 0
        package internal(set) var credentialsEnded = 0
    }

    /// The labels by which notifications are counted.
    package struct Series: Sendable, Hashable {
        /// nil if the platform no longer has a push network.
        package let provider: ProviderName?
        package let outcome: Outcome

        package init(provider: ProviderName?, outcome: Outcome) {
            self.provider = provider
            self.outcome = outcome
        }
    }

    package struct AppSeries: Sendable, Hashable {
        package let app: AppKey
        package let provider: ProviderName?
        package let outcome: Outcome
    }

    package struct ReasonSeries: Sendable, Hashable {
        package let app: AppKey
        package let provider: ProviderName?
        /// A code of the network or of Peal such as `BadDeviceToken`; `other` for everything else.
        package let reason: String
    }

    /// How many series of each kind are counted for single apps.
    static let seriesMax = 2000

    /// The reasons that may be labels, of each network.
    private let reasons: [ProviderName: Set<String>]

    /// Every series starts at zero. If a series appeared only with its first count, Prometheus would not see that count
    /// as an increase.
    init(_ providers: [ProviderName: any Provider]) {
        reasons = providers.mapValues(\.reasons)
        var snapshot = Snapshot()
        for provider in providers.keys {
            for outcome in Outcome.allCases where outcome != .moved {
                snapshot.notifications[Series(provider: provider, outcome: outcome)] = 0
            }
        }
        state = Mutex(snapshot)
    }

    package var snapshot: Snapshot { state.withLock { $0 } }

    func change(_ body: (inout Snapshot) -> Void) { state.withLock { body(&$0) } }

    func count(_ counts: OutcomeCounts, app: AppKey, provider: ProviderName?) {
        let parts: [(Outcome, Int)] = [
            (.accepted, counts.accepted), (.rejected, counts.rejected), (.retired, counts.retired),
            (.expired, counts.expired), (.suppressed, counts.suppressed),
        ]
        state.withLock { snapshot in
            for (outcome, count) in parts where count > 0 {
                snapshot.notifications[Series(provider: provider, outcome: outcome), default: 0] += count
                var series = AppSeries(app: app, provider: provider, outcome: outcome)
                if snapshot.byApp[series] == nil, snapshot.byApp.count >= Self.seriesMax {
                    series = AppSeries(app: 0, provider: provider, outcome: outcome)
                }
                snapshot.byApp[series, default: 0] += count
            }
            for (reason, count) in counts.reasons where count > 0 {
                var series = ReasonSeries(app: app, provider: provider, reason: label(reason, of: provider))
                if snapshot.reasons[series] == nil, snapshot.reasons.count >= Self.seriesMax {
                    series = ReasonSeries(app: 0, provider: provider, reason: "other")
                }
                snapshot.reasons[series, default: 0] += count
            }
        }
    }
}

extension DeliveryMetrics {
    /// A reason as a label: one that the network or Peal is known to use. Providers, and hosts that call themselves
    /// push services, must not choose the names of series.
    private func label(_ reason: String, of provider: ProviderName?) -> String {
        let known = provider.flatMap { reasons[$0] } ?? []
        if known.contains(reason) || Reason.known.contains(reason) || Self.isStatus(reason) { return reason }
        // FCM's code may be followed by the field that it concerns, and a lost answer by its cause.
        let code = reason.split(separator: " ").first.map(String.init) ?? ""
        if Reason.known.contains(code) { return code }
        return known.first { reason.hasPrefix("\($0)_") } ?? "other"
    }

    /// `Status503`, Peal's name for a status without a reason.
    private static func isStatus(_ reason: String) -> Bool {
        guard reason.hasPrefix("Status"), let status = Int(reason.dropFirst(6)) else { return false }
        return (100...599).contains(status) && reason.utf8.count == 9
    }

    /// Counts how long the answers to a page took.
    func answered(_ row: Settlement.LogRow, by provider: ProviderName?) {
        guard let provider else { return }
        state.withLock {
            $0.answers[provider, default: LatencyHistogram()].add(.milliseconds(row.tookMilliseconds))
        }
    }
}

extension DeliveryContext {
    /// Counts what the settlements of one conclusion add to a slice.
    func count(_ conclusion: Conclusion, since earlier: OutcomeCounts, _ settlements: [Settlement]) {
        guard let last = settlements.last else { return }
        let provider = last.slice.route.provider
        count(last.counts, since: earlier, app: last.slice.app, provider)
        if let row = last.logRow { metrics.answered(row, by: provider) }
        let (retries, stragglers) = (conclusion.retryCount, conclusion.stragglers.count)
        let resent = conclusion.resentCount
        guard retries + stragglers + resent > 0 else { return }
        metrics.change {
            $0.resent += resent
            $0.retries += retries
            $0.stragglers += stragglers
        }
    }

    func count(_ counts: OutcomeCounts, since earlier: OutcomeCounts, app: AppKey, _ provider: ProviderName?) {
        var added = OutcomeCounts()
        added.accepted = counts.accepted - earlier.accepted
        added.rejected = counts.rejected - earlier.rejected
        added.retired = counts.retired - earlier.retired
        added.expired = counts.expired - earlier.expired
        added.suppressed = counts.suppressed - earlier.suppressed
        added.reasons = counts.reasons.reduce(into: [:]) { reasons, reason in
            reasons[reason.key] = reason.value - (earlier.reasons[reason.key] ?? 0)
        }
        metrics.count(added, app: app, provider: provider)
    }
}
