internal import PealCore

/// When a device is tried again. The steps are those of Apple's and Google's advice: 10 s doubling to an hour for a
/// throttled address; 30 s, 2 min, 15 min and then every 20 min while a provider is in trouble. A lost answer says
/// nothing of the provider's health: 10 s (Google's least before any repetition), then the same steps.
enum BackOff {
    /// A wait that a provider asks for is never believed beyond this.
    static let longest: Duration = .seconds(6 * 3600)
    private static let providerSteps: [Int64] = [30, 120, 900, 1200]
    private static let lostSteps: [Int64] = [10] + providerSteps

    /// - Parameters:
    ///   - attempt: Sends tried, this one included.
    ///   - chance: Any number; spreads the waits of many pages by a fifth.
    static func delay(_ wait: Fate.Wait, attempt: Int, chance: UInt64) -> Duration {
        switch wait {
        case .peer(let after): bucket(after)
        case .address(let after?) where after > .zero: bucket(after)
        case .provider(let after?) where after > .zero: bucket(after)
        case .address: spread(seconds: min(3600, 10 << Int64(min(max(attempt, 1), 12) - 1)), chance)
        case .provider: spread(seconds: step(providerSteps, attempt), chance)
        case .lost: spread(seconds: step(lostSteps, attempt), chance)
        }
    }

    private static func step(_ steps: [Int64], _ attempt: Int) -> Int64 { steps[min(max(attempt, 1), steps.count) - 1] }

    /// Rounds a wait up to one of few, because all devices with the same one share a slice.
    private static func bucket(_ after: Duration) -> Duration {
        let steps: [Int64] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400]
        return steps.first { .seconds($0) >= after }.map { .seconds($0) } ?? longest
    }

    /// From the wait itself to a fifth more.
    private static func spread(seconds: Int64, _ chance: UInt64) -> Duration {
        .milliseconds(seconds * 1000 + Int64(chance % UInt64(seconds * 200)))
    }
}
