/// A key with what proves it: the keyed hash of its secret, and where the secret must be read again (`shared_secret`)
/// that one, which the store seals.
package struct StoredKey: Sendable, Hashable {
    package var key: APIKey
    /// HMAC-SHA256 of the secret half.
    package var secretHash: [UInt8]
    /// Hex text of the secret that signs custom user ids; nil where the dialect has none.
    package var sharedSecret: String?

    package init(key: APIKey, secretHash: [UInt8], sharedSecret: String? = nil) {
        self.key = key
        self.secretHash = secretHash
        self.sharedSecret = sharedSecret
    }
}
