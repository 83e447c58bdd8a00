internal import Logging
internal import PealCore

/// Warns of credentials that end: 30, 14 and 7 days ahead, and once they have ended. APNs certificates last a year, and
/// nothing is sent under one that is over.
struct CredentialWatch: Sendable {
    /// Whole days before the end, the farthest first.
    static let warningDays: [Int64] = [30, 14, 7]
    private static let interval: Duration = .seconds(3600)
    /// The earliest come first, so that a server with more than these still hears of the pressing ones.
    private static let credentialsMax = 1000

    /// A credential as it was put: another under the same place is warned of anew.
    struct Place: Hashable {
        let app: AppID
        let provider: ProviderName
        let environment: Environment
        let fingerprint: String
    }

    let context: DeliveryContext

    /// Runs until the process stops.
    func run() async {
        let never = Signal()
        context.onStop(never)
        var warned: [Place: Int] = [:]
        repeat {
            await look(&warned)
        } while await context.pause(never, atMost: Self.interval)
    }

    /// Looks once.
    /// - Parameter warned: how many warnings were given of each credential.
    func look(_ warned: inout [Place: Int]) async {
        let now = context.time.now
        let found: [(app: AppID, record: CredentialRecord)]
        do {
            found = try await context.store.read { try $0.endingCredentials(limit: Self.credentialsMax) }
        } catch {
            context.logger.error("the ends of credentials could not be read", metadata: ["error": "\(error)"])
            return
        }
        var present: [Place: Int] = [:]
        var ended = 0
        for (app, record) in found {
            guard let end = record.expiresAt, let stage = Self.stage(of: end, now: now) else { continue }
            if end <= now { ended += 1 }
            let place = Place(
                app: app, provider: record.provider, environment: record.environment, fingerprint: record.fingerprint)
            present[place] = stage
            if warned[place, default: -1] < stage { warn(place, end, now) }
        }
        warned = present
        let ending = present.count - ended
        context.metrics.change {
            $0.credentialsEnding = ending
            $0.credentialsEnded = ended
        }
    }

    /// How many of the warnings are due; nil = none.
    static func stage(of end: Timestamp, now: Timestamp) -> Int? {
        guard end > now else { return warningDays.count }
        return warningDays.lastIndex { now >= end - .seconds($0 * 24 * 3600) }
    }

    private func warn(_ place: Place, _ end: Timestamp, _ now: Timestamp) {
        let metadata: Logger.Metadata = [
            "app": "\(place.app)", "provider": "\(place.provider.rawValue)",
            "environment": "\(place.environment.rawValue)", "ends_at": "\(end)",
            "days_left": "\(max(0, (end - now).components.seconds / (24 * 3600)))",
        ]
        if end <= now {
            context.logger.error("a credential has ended: nothing is sent under it", metadata: metadata)
        } else {
            context.logger.warning("a credential ends soon", metadata: metadata)
        }
    }
}
