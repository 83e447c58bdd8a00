/// The broadcast channels of apps at APNs, which keeps them; nothing of them is stored here.
package protocol ChannelDirectory: Sendable {
    /// Makes a channel and gives its id.
    /// - Throws: `invalid_field`, `rate_limited`, `unavailable`, or `conflict` with Apple's reason.
    func create(_ policy: ChannelStoragePolicy, _ access: ChannelAccess) async throws(PealError) -> String

    /// Ids of the app's channels.
    func list(_ access: ChannelAccess) async throws(PealError) -> [String]

    /// - Throws: `not_found` for a channel that there is not.
    func read(_ channel: String, _ access: ChannelAccess) async throws(PealError) -> ChannelStoragePolicy

    /// - Throws: `not_found` for a channel that there is not.
    func delete(_ channel: String, _ access: ChannelAccess) async throws(PealError)
}

/// Whether APNs keeps the newest message of a channel for devices that are away.
package enum ChannelStoragePolicy: Int64, CaseIterable, Sendable, Hashable {
    case none = 0
    case mostRecent = 1
}

/// Under which credential, and where, channels are asked for.
package struct ChannelAccess: Sendable {
    package let credential: Credential
    package let fingerprint: String
    package let environment: Environment

    package init(credential: Credential, fingerprint: String, environment: Environment) {
        self.credential = credential
        self.fingerprint = fingerprint
        self.environment = environment
    }
}
