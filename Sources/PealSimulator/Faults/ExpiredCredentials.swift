import Synchronization

/// Fingerprints of the provider tokens and access tokens that a fault has let expire before their time.
package final class ExpiredCredentials: Sendable {
    private let fingerprints = Mutex<Set<UInt64>>([])

    /// None.
    package init() {}

    func insert(_ fingerprint: UInt64) {
        fingerprints.withLock { known in
            if known.count >= SimulatorLimits.expiredCredentialsMax { known.removeAll() }
            known.insert(fingerprint)
        }
    }

    func contains(_ fingerprint: UInt64) -> Bool {
        fingerprints.withLock { $0.contains(fingerprint) }
    }

    func removeAll() {
        fingerprints.withLock { $0.removeAll() }
    }
}
