/// What APNs remembers of one connection: who authenticated on it, and when its provider token changed.
package struct ConnectionMemory: Sendable {
    /// Whether a request with a good provider token has come.
    package internal(set) var isAuthenticated = false
    /// The team and key that the connection is bound to since its first good provider token.
    var keyID: String?
    var teamID: String?
    /// The bundle identifiers that the key was good for at that moment; later ones need a new connection.
    var bundleIDs: Set<String> = []
    /// Fingerprints of the provider tokens seen, the present one's `iat`, and when it changed last.
    var tokensSeen: [UInt64] = []
    var issuedAtSeconds: Int64 = 0
    var updatedAtSeconds: Int64?

    /// The memory of a new connection.
    package init() {}
}
