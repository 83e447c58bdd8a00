internal import PealCore

/// What metrics tell of credentials, by the app's id.
struct CredentialMetrics: Sendable {
    typealias Listed = (app: AppID, record: CredentialRecord)

    /// Those that end.
    var ending: [Listed] = []
    var stopped: [Listed] = []

    /// Both lists are cut at `Limits.credentialsListedMax`.
    init(_ store: any StoreReading) throws {
        ending = try store.endingCredentials(limit: Limits.credentialsListedMax)
        stopped = try store.stoppedCredentials(limit: Limits.credentialsListedMax)
    }

    static func labels(_ listed: Listed) -> String {
        "app=\"\(listed.app)\",provider=\"\(listed.record.provider.rawValue)\""
            + ",environment=\"\(listed.record.environment.rawValue)\""
    }
}
