/// What an app shows a push network to be let in. Secrets: never logged, never returned.
package enum Credential: Sendable, Hashable {
    case apnsToken(APNsToken)

    /// A provider token's signing key (`.p8`).
    package struct APNsToken: Sendable, Hashable {
        package var keyID: String
        package var teamID: String
        /// PEM, PKCS#8, P-256.
        package var privateKey: String
        package var bundleID: String

        package init(keyID: String, teamID: String, privateKey: String, bundleID: String) {
            self.keyID = keyID
            self.teamID = teamID
            self.privateKey = privateKey
            self.bundleID = bundleID
        }
    }
}
