import Crypto

/// A key that provider tokens may be signed with, as a developer account would hold it.
package struct ProviderKey: Sendable {
    /// The ten characters of the developer team.
    package let teamID: String
    /// The apps that the team may send to.
    package let bundleIDs: Set<String>
    /// The only environment the key works in; nil for both.
    package let environment: PushEnvironment?
    let publicKey: P256.Signing.PublicKey

    /// A key of `teamID` for `bundleIDs`. Throws when `publicKeyPEM` is not a P-256 public key.
    package init(
        teamID: String, publicKeyPEM: String, bundleIDs: Set<String>, environment: PushEnvironment? = nil
    ) throws {
        self.teamID = teamID
        self.bundleIDs = bundleIDs
        self.environment = environment
        do {
            publicKey = try P256.Signing.PublicKey(pemRepresentation: publicKeyPEM)
        } catch {
            throw SimulatorError("public_key: not a P-256 public key in PEM")
        }
    }
}
