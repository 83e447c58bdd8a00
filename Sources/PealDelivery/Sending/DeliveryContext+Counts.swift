internal import PealCore

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
