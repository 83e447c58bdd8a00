internal import PealCore
internal import Synchronization

/// Limits the requests of each key, of each device and of each app, and the registrations with each device key from
/// each client address: everyone who has the app has its key.
final class RequestQuotas: Sendable {
    private let time: any TimeSource
    private let state: Mutex<Buckets>
    /// There are many more devices and clients than keys; with more buckets, fewer of them share one.
    private static let manyBuckets = 65_536

    /// Each key and each app may use the requests of two seconds at once.
    init(perKey: Int, perApp: Int, time: any TimeSource) {
        self.time = time
        state = Mutex(
            Buckets(
                keys: TokenBuckets(capacity: Double(perKey) * 2, perSecond: Double(perKey)),
                apps: TokenBuckets(capacity: Double(perApp) * 2, perSecond: Double(perApp)),
                devices: TokenBuckets(perMinute: Limits.requestsPerDevicePerMinute, count: Self.manyBuckets),
                registrations: TokenBuckets(perMinute: Limits.registrationsPerMinute, count: Self.manyBuckets)))
    }

    private struct Buckets {
        var keys: TokenBuckets
        var apps: TokenBuckets
        var devices: TokenBuckets
        var registrations: TokenBuckets
    }

    /// - Throws: `rate_limited`.
    func spend(_ installation: Installation) throws(PealError) {
        var hasher = Hasher()
        hasher.combine(installation.app)
        hasher.combine(installation.device)
        let device = hasher.finalize()
        try spend(device, of: \.devices, app: installation.app, "too many requests from this device or for this app")
    }

    /// - Throws: `rate_limited`.
    func spend(_ key: APIKey) throws(PealError) {
        try spend(key.id.hashValue, of: \.keys, app: key.app, "too many requests with this key or for this app")
    }

    /// Counts a registration.
    /// - Throws: `rate_limited`.
    func spend(registrationWith key: KeyID, from address: ClientAddress) throws(PealError) {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(address.network)
        try spend(
            hasher.finalize(), of: \.registrations, app: nil, "too many registrations with this key from this address")
    }

    /// - Parameter app: the app whose requests are counted too; nil for none.
    private func spend(
        _ caller: Int, of buckets: WritableKeyPath<Buckets, TokenBuckets>, app: AppKey?, _ refusal: String
    ) throws(PealError) {
        let (now, app) = (time.uptime, app?.hashValue)
        let wait = state.withLock { state -> Double? in
            if let wait = state[keyPath: buckets].wait(caller, now: now) { return wait }
            if let app, let wait = state.apps.wait(app, now: now) { return wait }
            state[keyPath: buckets].take(caller, now: now)
            if let app { state.apps.take(app, now: now) }
            return nil
        }
        if let wait { throw .rateLimited(refusal, after: wait) }
    }
}

/// Many token buckets in constant memory. Names that map to the same slot share a bucket until it is full again; names
/// are hashed with a random seed, so that no client can choose a slot.
struct TokenBuckets: Sendable {
    private struct Bucket {
        /// Tokens taken and not yet refilled.
        var taken = 0.0
        var at = Duration.zero
    }

    private let capacity: Double
    private let perSecond: Double
    private var buckets: [Bucket]

    init(capacity: Double, perSecond: Double, count: Int = 4096) {
        self.capacity = max(1, capacity)
        self.perSecond = perSecond
        buckets = Array(repeating: Bucket(), count: count)
    }

    init(perMinute: Int, count: Int = 4096) {
        self.init(capacity: Double(perMinute), perSecond: Double(perMinute) / 60, count: count)
    }

    /// How many seconds until a token is available; nil if one is available now.
    func wait(_ name: Int, now: Duration) -> Double? {
        let excess = taken(buckets[slot(name)], now: now) + 1 - capacity
        return excess > 0.000_001 ? excess / perSecond : nil
    }

    /// Whether every token is available.
    func isFull(_ name: Int, now: Duration) -> Bool { taken(buckets[slot(name)], now: now) == 0 }

    mutating func take(_ name: Int, now: Duration) {
        let slot = slot(name)
        let taken = taken(buckets[slot], now: now)
        buckets[slot] = Bucket(taken: min(capacity, taken + 1), at: now)
    }

    private func taken(_ bucket: Bucket, now: Duration) -> Double {
        let (seconds, attoseconds) = (now - bucket.at).components
        return max(0, bucket.taken - (Double(seconds) + Double(attoseconds) / 1e18) * perSecond)
    }

    private func slot(_ name: Int) -> Int { Int(UInt(bitPattern: name) % UInt(buckets.count)) }
}

extension PealError {
    /// - Parameter wait: seconds until a token is available.
    static func rateLimited(_ message: String, after wait: Double) -> PealError {
        PealError(.rateLimited, message, retryAfterSeconds: max(1, Int(wait.rounded(.up))))
    }
}
