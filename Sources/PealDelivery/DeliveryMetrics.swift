package import PealCore
internal import Synchronization

/// Counts what the engine did since its start. Workers add a page at a time; `/metrics` reads.
package final class DeliveryMetrics: Sendable {
    private let state = Mutex(Snapshot())

    package init() {}

    /// One instant's counts, all growing where nothing else is said.
    package struct Snapshot: Sendable, Hashable {
        /// Ended notifications, by provider and outcome.
        package internal(set) var notifications: [Series: Int] = [:]
        /// Pages given to providers.
        package internal(set) var pages = 0
        /// Settlements written, and those refused because the lease was lost.
        package internal(set) var settles = 0
        package internal(set) var settlesRefused = 0
        /// Devices put off to be tried again.
        package internal(set) var retries = 0
        /// Devices whose answer came later than their page could wait.
        package internal(set) var stragglers = 0
        /// Pages that stood still and lent their place to other routes.
        package internal(set) var pagesLent = 0
        package internal(set) var breakerTrips = 0
        package internal(set) var leasesTakenBack = 0
        package internal(set) var leasesExtended = 0
        /// Credentials that end within thirty days, and those that have ended: as they stand, not growing.
        package internal(set) var credentialsEnding = 0
        package internal(set) var credentialsEnded = 0
    }

    /// What notifications are counted by.
    package struct Series: Sendable, Hashable {
        /// nil where no push network is left for the platform.
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
        guard retries + stragglers > 0 else { return }
        metrics.change {
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
