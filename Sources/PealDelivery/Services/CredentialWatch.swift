internal import Logging
internal import PealCore

/// Warns of credentials that expire: `Limits.expiryWarningDays` ahead, and once they have expired. APNs certificates
/// last a year, and nothing is sent under an expired one.
struct CredentialWatch: Sendable {
    private static let interval: Duration = .seconds(60)
    /// The earliest expiries come first, so that a server with more credentials still gets the urgent warnings.
    private static let credentialsMax = 1000

    /// One credential as it was stored. Its replacement for the same app, provider and environment gets its own
    /// warnings.
    struct Subject: Hashable {
        let app: AppID
        let provider: ProviderName
        let environment: Environment
        let fingerprint: String
    }

    let context: DeliveryContext

    /// Runs until the process stops.
    func run() async {
        let sleeper = context.stop.sleeper()
        var warned: [Subject: Int] = [:]
        repeat {
            await look(&warned)
        } while await context.stop.pause(sleeper, atMost: Self.interval)
    }

    /// Checks once.
    /// - Parameter warned: How many warnings were given for each credential.
    func look(_ warned: inout [Subject: Int]) async {
        let now = context.time.now
        let found: [(app: AppID, record: CredentialRecord)]
        do {
            found = try await context.store.read { try $0.endingCredentials(limit: Self.credentialsMax) }
        } catch {
            return context.logFailure("the expiry of credentials could not be read", error)
        }
        var present: [Subject: Int] = [:]
        var ended = 0
        for (app, record) in found {
            guard let end = record.expiresAt, let stage = Self.stage(of: end, now: now) else { continue }
            if end <= now { ended += 1 }
            let subject = Subject(
                app: app, provider: record.provider, environment: record.environment, fingerprint: record.fingerprint)
            present[subject] = stage
            if warned[subject, default: -1] < stage { warn(subject, end, now) }
        }
        warned = present
        let ending = present.count - ended
        context.metrics.change {
            $0.credentialsEnding = ending
            $0.credentialsEnded = ended
        }
    }

    /// How many of the warnings are due; nil for none.
    static func stage(of end: Timestamp, now: Timestamp) -> Int? {
        guard end > now else { return Limits.expiryWarningDays.count }
        return Limits.expiryWarningDays.lastIndex { now >= end - .seconds($0 * 24 * 3600) }
    }

    private func warn(_ subject: Subject, _ end: Timestamp, _ now: Timestamp) {
        let metadata: Logger.Metadata = [
            "app": "\(subject.app)", "provider": "\(subject.provider.rawValue)",
            "environment": "\(subject.environment.rawValue)", "ends_at": "\(end)",
            "days_left": .stringConvertible(max(0, (end - now).components.seconds / (24 * 3600))),
        ]
        if end <= now {
            context.logger.error("a credential has expired: nothing is sent with it", metadata: metadata)
        } else {
            context.logger.warning("a credential expires soon", metadata: metadata)
        }
    }
}
