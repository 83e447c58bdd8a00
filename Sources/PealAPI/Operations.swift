/// What the server tells of itself to whoever runs it.
package protocol Operations: Sendable {
    /// Every subsystem, with the reason where one does not work.
    func readiness() async -> [(subsystem: String, failure: String?)]
    /// How many apps were stopped because a push network refuses everything of theirs.
    func stoppedApps() async -> Int
    /// The text exposition of Prometheus.
    func metrics() async -> String
}
