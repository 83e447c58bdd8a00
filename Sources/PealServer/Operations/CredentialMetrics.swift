internal import PealCore

/// What metrics tell of credentials, by the app's id.
struct CredentialMetrics: Sendable {
    typealias Listed = (app: AppID, record: CredentialRecord)

    /// Those that end.
    let ending: [Listed]
    let stopped: [Listed]

    /// Both lists are cut at `Limits.credentialsListedMax`.
    init(_ store: any StoreReading) throws {
        ending = try store.endingCredentials(limit: Limits.credentialsListedMax)
        stopped = try store.stoppedCredentials(limit: Limits.credentialsListedMax)
    }

    /// In Prometheus' format.
    var text: String {
        var text = ""
        var name = "peal_credential_expires_at_seconds"
        MetricsText.family(name, "gauge", "When a credential ends, in seconds since 1970.", into: &text)
        for listed in ending {
            text += "\(name){\(Self.labels(listed))} \(listed.record.expiresAt?.seconds ?? 0)\n"
        }
        name = "peal_credential_stopped"
        MetricsText.family(name, "gauge", "1 for each credential that its provider refuses.", into: &text)
        for listed in stopped { text += "\(name){\(Self.labels(listed))} 1\n" }
        return text
    }

    private static func labels(_ listed: Listed) -> String {
        "app=\"\(listed.app)\",provider=\"\(listed.record.provider.rawValue)\""
            + ",environment=\"\(listed.record.environment.rawValue)\""
    }
}
