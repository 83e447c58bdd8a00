package import PealCore

/// What the server tells of itself to whoever runs it.
package protocol Operations: Sendable {
    /// Every subsystem, with the reason where one does not work.
    func readiness() async -> [(subsystem: String, failure: String?)]
    /// How many apps were stopped because a push network refuses everything of theirs.
    func stoppedApps() async -> Int
    /// What is stopped, with the reasons; at most `Limits.credentialsListedMax`.
    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)]
    /// The text exposition of Prometheus.
    func metrics() async -> String
}
