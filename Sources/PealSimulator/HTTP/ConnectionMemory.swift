/// What is remembered of one connection: its client certificate, and for APNs who authenticated on it, when its
/// provider token changed and how many errors it has caused.
package struct ConnectionMemory: Sendable {
    /// The client certificate as it was shown in TLS (DER); nil without one.
    var certificateDER: [UInt8]?
    /// What the certificate is good for, once somebody has looked at it.
    var standing: CertificateStanding?
    /// Whether a request with a good provider token or certificate has come.
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
    /// Whether the streams have been opened, points for error answers, and whether the stream limit has been lowered
    /// because of one.
    var isOpened = false
    var errorPoints = 0
    var isSlowedDown = false

    /// The memory of a new connection.
    package init() {}
}
