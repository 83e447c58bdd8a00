extension Credential.VAPIDKey {
    /// Names the key in lists and paths: the last 32 characters of the public key, which is no secret.
    package var fingerprint: String { String(publicKey.suffix(32)) }
}
