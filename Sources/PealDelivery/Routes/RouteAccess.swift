internal import PealCore
internal import Synchronization

/// The credential for a route of an app, and the name by which connection pools know it.
struct RouteAccess: Sendable {
    let credential: Credential
    let fingerprint: String
    let health: CredentialRecord.Health

    init(_ credential: Credential, _ record: CredentialRecord) {
        self.credential = credential
        fingerprint = record.fingerprint
        health = record.health
    }
}

/// Recently read credentials, because unsealing one costs more than a direct message. Entries live for seconds, because
/// another process may replace a credential, and are dropped at once when this process replaces it.
final class AccessCache: Sendable {
    private struct Entry {
        /// nil = the app has none.
        var access: RouteAccess?
        let readAt: Duration
        var isHealthy: Bool
    }

    private struct State {
        var entries: [CredentialSlot: Entry] = [:]
        /// The fingerprints of the credentials that were read last: their connections may be open.
        var fingerprints: [CredentialSlot: String] = [:]
        /// The number of the last change of each credential that was changed.
        var changes: [CredentialSlot: Int] = [:]
        var changeCount = 0
        /// The number for credentials that are not in `changes`.
        var changesBefore = 0

        func version(of slot: CredentialSlot) -> Int { changes[slot] ?? changesBefore }

        mutating func change(_ slot: CredentialSlot) {
            changeCount += 1
            if changes.count >= AccessCache.countMax { (changes, changesBefore) = ([:], changeCount) }
            changes[slot] = changeCount
        }
    }

    private static let life: Duration = .seconds(5)
    fileprivate static let countMax = 1024
    private let state = Mutex(State())

    /// Differs before and after a change of the credential. What was read or sent under another version is outdated.
    func version(of slot: CredentialSlot) -> Int { state.withLock { $0.version(of: slot) } }

    /// The kept entry; nil if the credential must be read.
    func find(_ slot: CredentialSlot, now: Duration) -> Found? {
        state.withLock { state in
            guard let entry = state.entries[slot], now - entry.readAt < Self.life else { return nil }
            return Found(access: entry.access)
        }
    }

    /// A kept entry, whose `access` is nil if the app has no credential there.
    struct Found: Sendable {
        let access: RouteAccess?
    }

    /// What follows when a credential that was read is kept.
    struct Kept: Sendable {
        /// The version of what was read.
        let version: Int
        /// The fingerprint of the credential that it replaces, whose connections can be closed; nil for none.
        let replaced: String?
    }

    /// Keeps what was read under the given version, unless the credential has changed since. If another credential
    /// is stored than at the last reading, its change was not announced.
    func keep(_ access: RouteAccess?, for slot: CredentialSlot, version: Int, now: Duration) -> Kept {
        state.withLock { state in
            guard state.version(of: slot) == version else { return Kept(version: version, replaced: nil) }
            let earlier = state.fingerprints[slot]
            let replaced = earlier == access?.fingerprint ? nil : earlier
            if replaced != nil { state.change(slot) }
            if state.entries.count >= Self.countMax { state.entries.removeAll() }
            if state.fingerprints.count >= Self.countMax { state.fingerprints.removeAll() }
            state.entries[slot] = Entry(access: access, readAt: now, isHealthy: access?.health.isOK ?? false)
            state.fingerprints[slot] = access?.fingerprint
            return Kept(version: state.version(of: slot), replaced: replaced)
        }
    }

    /// Records that the credential worked. Returns whether that is new and must be stored.
    func markHealthy(_ slot: CredentialSlot) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[slot], !entry.isHealthy else { return false }
            state.entries[slot]?.isHealthy = true
            return true
        }
    }

    func markStopped(_ slot: CredentialSlot) { state.withLock { $0.entries[slot]?.isHealthy = false } }

    /// Drops every credential: any of them may have changed.
    func forgetAll() {
        state.withLock { state in
            state.changeCount += 1
            (state.changes, state.changesBefore) = ([:], state.changeCount)
            state.entries = [:]
        }
    }

    /// Drops a credential that changed. Returns the fingerprint that was kept, so that its connections can be closed.
    func forget(_ slot: CredentialSlot) -> String? {
        state.withLock { state in
            state.change(slot)
            state.entries[slot] = nil
            return state.fingerprints.removeValue(forKey: slot)
        }
    }
}

extension DeliveryContext {
    /// The credential, read from the store if it was not read recently; nil when the app has none.
    func readAccess(at slot: CredentialSlot) async throws -> RouteAccess? {
        let (uptime, version) = (time.uptime, access.version(of: slot))
        if let known = access.find(slot, now: uptime) { return known.access }
        let found = try await store.read { try $0.credential(at: slot) }.map { RouteAccess($0.credential, $0.record) }
        keep(found, at: slot, version: version, now: uptime)
        return found
    }

    /// Keeps a credential that was read, and closes the connections of the one that it replaces.
    /// - Returns: its version.
    @discardableResult
    func keep(_ found: RouteAccess?, at slot: CredentialSlot, version: Int, now: Duration) -> Int {
        let kept = access.keep(found, for: slot, version: version, now: now)
        if let replaced = kept.replaced { providers[slot.provider]?.drain(fingerprint: replaced) }
        return kept.version
    }
}
