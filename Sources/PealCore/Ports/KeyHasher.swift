/// Hashes secrets that are only compared: HMAC-SHA256 under a key derived from the master key, so that a stolen
/// database lets nobody in.
package protocol KeyHasher: Sendable {
    /// 32 bytes.
    func hash(_ secret: String) -> [UInt8]
}
