package import PealCore
internal import Synchronization

/// Counts what the engine did since its start. Workers add a page at a time; `/metrics` reads the counts.
package final class DeliveryMetrics: Sendable {
    private let state = Mutex(Snapshot())

    package init() {}

    /// The counts at one instant. They only grow, unless a comment says otherwise.
    package struct Snapshot: Sendable, Hashable {
        /// Ended notifications, by provider and outcome.
        package internal(set) var notifications: [Series: Int] = [:]
        /// Pages given to providers.
        package internal(set) var pages = 0
        /// Settlements written, and those refused because the lease was lost.
        package internal(set) var settles = 0
        package internal(set) var settlesRefused = 0
        /// Writes of settlements that failed, and were tried again.
        package internal(set) var settlesFailed = 0
        /// Slices that were taken out of work because their settlements could not be stored.
        package internal(set) var slicesQuarantined = 0
        /// Devices deferred to be tried again.
        package internal(set) var retries = 0
        /// Devices whose page was settled before their answer came.
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
        /// Credentials that expire within thirty days, and expired ones: current numbers, which do not only grow.
        package internal(set) var credentialsEnding = 0
        package internal(set) var credentialsEnded = 0
    }

    /// What notifications are counted by.
    package struct Series: Sendable, Hashable {
        /// nil where the platform has no push network any more.
        package let provider: ProviderName?
        package let outcome: Outcome

        package init(provider: ProviderName?, outcome: Outcome) {
            self.provider = provider
            self.outcome = outcome
        }
    }

    package var snapshot: Snapshot { state.withLock { $0 } }

    func change(_ body: (inout Snapshot) -> Void) { state.withLock { body(&$0) } }

    func count(_ counts: OutcomeCounts, provider: ProviderName?) {
        let parts: [(Outcome, Int)] = [
            (.accepted, counts.accepted), (.rejected, counts.rejected), (.retired, counts.retired),
            (.expired, counts.expired), (.suppressed, counts.suppressed),
        ]
        state.withLock { snapshot in
            for (outcome, count) in parts where count > 0 {
                snapshot.notifications[Series(provider: provider, outcome: outcome), default: 0] += count
            }
        }
    }
}

extension DeliveryContext {
    /// Counts what settlements of one conclusion added to a slice.
    func count(_ conclusion: Conclusion, since earlier: OutcomeCounts, _ settlements: [Settlement]) {
        guard let last = settlements.last else { return }
        count(last.counts, since: earlier, last.slice.route.provider)
        let (retries, stragglers) = (conclusion.retryCount, conclusion.stragglers.count)
        let resent = conclusion.resentCount
        guard retries + stragglers + resent > 0 else { return }
        metrics.change {
            $0.resent += resent
            $0.retries += retries
            $0.stragglers += stragglers
        }
    }

    func count(_ counts: OutcomeCounts, since earlier: OutcomeCounts, _ provider: ProviderName?) {
        var added = OutcomeCounts()
        added.accepted = counts.accepted - earlier.accepted
        added.rejected = counts.rejected - earlier.rejected
        added.retired = counts.retired - earlier.retired
        added.expired = counts.expired - earlier.expired
        added.suppressed = counts.suppressed - earlier.suppressed
        metrics.count(added, provider: provider)
    }
}
