import Crypto
import Foundation

/// A subscription whose keys the simulator holds, so that it can read what is sent to it.
struct WebPushSubscription: Sendable {
    let key: P256.KeyAgreement.PrivateKey
    /// The secret shared with the sender: 16 bytes (RFC 8291 §3.2).
    let secret: [UInt8]
    /// The only key that VAPID tokens may be signed with, uncompressed; nil for any.
    let applicationServerKey: [UInt8]?
    /// Unsubscribed: the endpoint answers 410.
    var isGone = false
}
