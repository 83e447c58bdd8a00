import Crypto
import Foundation
import Synchronization

/// The subscriptions created through the control interface, by the id at the end of the endpoint.
package final class WebPushSubscriptions: Sendable {
    /// The path before the id.
    static let route = "/push/"

    private let subscriptions = Mutex<[String: BrowserSubscription]>([:])
    /// `https://HOST:PORT` of the listener, once it is open.
    private let origin = Mutex("")
    private let ids: IDSource

    init(ids: IDSource) {
        self.ids = ids
    }

    /// Sets the origin of endpoints.
    func open(at origin: String) {
        self.origin.withLock { $0 = origin }
    }

    /// Creates a subscription. Returns `endpoint` and `keys` as a browser would. Throws when the key is not a P-256
    /// point, or when there are too many.
    func make(applicationServerKey text: String?) throws -> String {
        let id = URLSafeBase64.encode(Data(ids.bytes(24)))
        let subscription = BrowserSubscription(
            key: P256.KeyAgreement.PrivateKey(), secret: ids.bytes(16),
            applicationServerKey: try text.map(Self.applicationServerKey))
        try subscriptions.withLock { subscriptions in
            guard subscriptions.count < SimulatorLimits.subscriptionsMax else {
                throw SimulatorError("subscriptions: at most \(SimulatorLimits.subscriptionsMax)")
            }
            subscriptions[id] = subscription
        }
        let origin = origin.withLock { $0 }
        let publicKey = subscription.key.publicKey.x963Representation
        let keys = [
            ("p256dh", JSONText.quoted(URLSafeBase64.encode(publicKey))),
            ("auth", JSONText.quoted(URLSafeBase64.encode(Data(subscription.secret)))),
        ]
        return JSONText.object(
            [("endpoint", JSONText.quoted(origin + Self.route + id)), ("keys", JSONText.object(keys))]
                + (text.map { [("application_server_key", JSONText.quoted($0))] } ?? []))
    }

    /// Unsubscribes `endpoint`. Returns whether it was subscribed.
    func unsubscribe(_ endpoint: String) -> Bool {
        guard let route = endpoint.firstRange(of: Self.route) else { return false }
        let id = String(endpoint[route.upperBound...])
        return subscriptions.withLock { subscriptions in
            guard subscriptions[id]?.isGone == false else { return false }
            subscriptions[id]?.isGone = true
            return true
        }
    }

    /// The subscription whose endpoint ends with `id`.
    func find(_ id: String) -> BrowserSubscription? {
        subscriptions.withLock { $0[id] }
    }

    private static func applicationServerKey(_ text: String) throws -> [UInt8] {
        let plain = text.prefix { $0 != "=" }
        guard let bytes = URLSafeBase64.decode(plain),
            (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
        else { throw SimulatorError("application_server_key: not a P-256 point in base64url") }
        return Array(bytes)
    }
}

/// A subscription whose keys the simulator holds, so that it can read what is sent to it.
struct BrowserSubscription: Sendable {
    let key: P256.KeyAgreement.PrivateKey
    /// The secret shared with the sender: 16 bytes (RFC 8291 §3.2).
    let secret: [UInt8]
    /// The key that VAPID tokens must be signed with, uncompressed; nil for any.
    let applicationServerKey: [UInt8]?
    /// Unsubscribed: the endpoint answers 410.
    var isGone = false
}
