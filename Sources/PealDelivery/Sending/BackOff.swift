internal import PealCore

/// Problems that keep a route from being used, the mildest first. The devices concerned were not tried: the attempt
/// does not count.
enum RouteProblem: Sendable, Hashable {
    case unsent
    case reconnect
    case refreshCredential
    case hold(after: Duration)
    case stop

    var weight: Int {
        switch self {
        case .unsent: 0
        case .reconnect: 1
        case .refreshCredential: 2
        case .hold: 3
        case .stop: 4
        }
    }
}

extension ProviderAnswer {
    /// nil if the answer concerns its device alone.
    var routeProblem: RouteProblem? {
        switch result {
        case .unsent: isOfHostAlone ? nil : .unsent
        case .verdict(.reconnect): .reconnect
        case .verdict(.refreshCredential): .refreshCredential
        case .verdict(.holdApp(let after)): .hold(after: after)
        case .verdict(.stopApp): .stop
        case .lost, .held, .verdict(.accepted), .verdict(.rejectMessage), .verdict(.retireAddress),
            .verdict(.holdAddress), .verdict(.retry):
            nil
        }
    }
}

/// When a device is tried again. A wait that the provider states is the shortest one: it doubles with each attempt, up
/// to an hour. The other steps follow Apple's and Google's advice: 10 s, doubling up to an hour, for a throttled
/// address; 30 s, 2 min, 15 min and then every 20 min while a provider has problems, after twelve attempts every hour.
/// A lost answer says nothing about the provider's health: 10 s (Google's minimum before any retry), then the same
/// steps.
enum BackOff {
    /// Why a device is tried again.
    enum Wait: Sendable, Hashable {
        /// The address alone is throttled. `after` is the shortest wait; zero = the policy decides.
        case address(after: Duration)
        /// The provider had a problem. `after` is the shortest wait; nil or zero = the policy decides.
        case provider(after: Duration?)
        /// The request was written and no answer came.
        case lost
        /// It was not tried, because the peer behind its address asked for a pause: the attempt does not count.
        case peer(after: Duration)
        /// The address was reported as dead, which Peal doubts. It waits as long as an address that is held, doubling
        /// up to an hour.
        case doubt
    }

    /// The longest wait that Peal accepts from a provider.
    static let longest: Duration = .seconds(Limits.providerWaitSecondsMax)
    /// The longest wait between attempts, unless the provider states a longer one.
    private static let slowest: Duration = .seconds(3600)
    private static let doublingsMax = 12
    /// How many attempts are made before the steps slow down to one an hour.
    private static let quickAttemptsMax = 12
    private static let providerSteps: [Int64] = [30, 120, 900, 1200]
    private static let lostSteps: [Int64] = [10] + providerSteps

    /// - Parameters:
    ///   - attempt: The number of sends tried, this one included.
    ///   - chance: A random number, which spreads the waits of many pages by up to a fifth.
    static func delay(_ wait: Wait, attempt: Int, chance: UInt64) -> Duration {
        switch wait {
        case .peer(let after): bucket(after)
        case .address(let after) where after > .zero: spread(grown(bucket(after), attempt: attempt), chance)
        case .provider(let after?) where after > .zero: spread(grown(bucket(after), attempt: attempt), chance)
        case .address: spread(grown(.seconds(10), attempt: attempt), chance)
        case .provider: spread(.seconds(step(providerSteps, attempt)), chance)
        case .lost: spread(.seconds(step(lostSteps, attempt)), chance)
        case .doubt: spread(grown(deviceDelayMin, attempt: attempt), chance)
        }
    }

    /// A wait that doubles with each attempt up to an hour, or is longer already; at most `longest`.
    /// - Parameter attempt: 1 gives the wait itself.
    static func grown(_ wait: Duration, attempt: Int) -> Duration {
        let factor = 1 << min(max(attempt, 1) - 1, doublingsMax)
        return min(max(wait, min(wait * factor, slowest)), longest)
    }

    /// A hold of this length or more does not indicate load. FCM asks for one if the Firebase project has no valid key
    /// for a device's push service, MPNS if a channel has used up its quota. Other devices are not affected.
    private static let deviceDelayMin = Duration.seconds(600)

    /// Whether a hold of one address says nothing about the route.
    static func isOfTheAddressAlone(_ hold: Duration) -> Bool { hold >= deviceDelayMin }

    private static func step(_ steps: [Int64], _ attempt: Int) -> Int64 {
        attempt > quickAttemptsMax ? slowest.components.seconds : steps[min(max(attempt, 1), steps.count) - 1]
    }

    /// Rounds a wait up to one of a few values, because devices with the same wait share a slice.
    private static func bucket(_ after: Duration) -> Duration {
        let steps: [Int64] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400]
        return steps.first { .seconds($0) >= after }.map { .seconds($0) } ?? longest
    }

    /// From the wait itself to a fifth longer.
    private static func spread(_ wait: Duration, _ chance: UInt64) -> Duration {
        wait + .milliseconds(Int64(chance % UInt64(max(wait.milliseconds / 5, 1))))
    }
}
