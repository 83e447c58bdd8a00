internal import Logging
internal import PealCore
internal import ServiceLifecycle

/// Looks once a day, and at the start, at which credentials are about to end or have ended, and says so in the log.
struct ExpiryWatch: Service {
    let store: any Store
    let time: any TimeSource
    let logger: Logger

    private static let interval: Duration = .seconds(86_400)

    /// Runs until the server stops.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                await look()
                try await time.sleep(for: Self.interval)
            }
        }
    }

    private func look() async {
        let now = time.now
        do {
            let ending = try await store.read { try $0.endingCredentials(limit: Limits.credentialsListedMax) }
            for (app, record) in ending { warn(app, record, now: now) }
        } catch {
            logger.error("the ends of credentials could not be read", metadata: ["error": "\(error)"])
        }
    }

    private func warn(_ app: AppID, _ record: CredentialRecord, now: Timestamp) {
        guard let days = record.warningDays(at: now), let warning = record.warning(at: now) else { return }
        logger.log(
            level: days == 0 ? .error : .warning, "a credential \(warning)",
            metadata: [
                "app": "\(app)", "provider": "\(record.provider.rawValue)",
                "environment": "\(record.environment.rawValue)", "fingerprint": "\(record.fingerprint)",
                "expires_at": "\(record.expiresAt?.description ?? "")",
            ])
    }
}
