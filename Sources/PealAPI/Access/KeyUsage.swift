internal import Logging
internal import PealCore
internal import Synchronization

/// Remembers when keys and admins were last used. Each is written to the store at most once a minute.
final class KeyUsage: Sendable {
    private struct Use {
        var at: Timestamp
        var isWritten = false
        var writtenAt: Duration?
    }

    private enum User: Hashable {
        case key(KeyID)
        case admin(AdminID)
    }

    static let interval = Duration.seconds(60)
    private static let usersMax = 10_000

    private let time: any TimeSource
    private let uses = Mutex<[User: Use]>([:])

    init(time: any TimeSource) { self.time = time }

    func note(_ caller: Caller, at now: Timestamp) {
        switch caller.identity {
        case .key(let stored): note(.key(stored.key.id), now)
        case .admin(let admin?): note(.admin(admin.id), now)
        case .admin(nil), .anonymous, .device: return
        }
    }

    private func note(_ user: User, _ now: Timestamp) {
        uses.withLock { uses in
            if uses[user] == nil, uses.count >= Self.usersMax { uses = uses.filter { !$0.value.isWritten } }
            var use = uses[user] ?? Use(at: now)
            (use.at, use.isWritten) = (now, false)
            uses[user] = use
        }
    }

    /// The uses to write to the store now.
    func takeDue() -> (keys: [KeyID: Timestamp], admins: [AdminID: Timestamp]) {
        let now = time.uptime
        return uses.withLock { uses in
            var due: (keys: [KeyID: Timestamp], admins: [AdminID: Timestamp]) = ([:], [:])
            for (user, use) in uses where !use.isWritten {
                if let writtenAt = use.writtenAt, now - writtenAt < Self.interval { continue }
                uses[user] = Use(at: use.at, isWritten: true, writtenAt: now)
                switch user {
                case .key(let id): due.keys[id] = use.at
                case .admin(let id): due.admins[id] = use.at
                }
            }
            return due
        }
    }

    /// Restores uses that could not be written.
    func giveBack(_ due: (keys: [KeyID: Timestamp], admins: [AdminID: Timestamp])) {
        let users = due.keys.map { (User.key($0.key), $0.value) } + due.admins.map { (User.admin($0.key), $0.value) }
        uses.withLock { uses in
            for (user, at) in users where uses[user] != nil || uses.count < Self.usersMax {
                uses[user] = Use(at: max(at, uses[user]?.at ?? at))
            }
        }
    }
}

/// Writes what the gate has collected: refused requests and the uses of keys. It also completes the audit's chain.
package struct AccessRecorder: Sendable {
    let services: APIServices

    package init(_ services: APIServices) { self.services = services }

    private static let interval = Duration.seconds(1)

    /// Writes every second until it is cancelled, and then one last time.
    package func run() async {
        var isFailing = false
        repeat {
            do {
                try await write()
                isFailing = false
            } catch {
                if !isFailing {
                    services.logger.warning("the audit log cannot be written", metadata: ["error": "\(error)"])
                }
                isFailing = true
            }
        } while (try? await services.time.sleep(for: Self.interval)) != nil
        try? await write()
    }

    /// Writes what is due. What cannot be written because the store is not available stays due.
    package func write() async throws {
        do {
            try await writeCollected()
        } catch {
            // Other rows wait for it, too.
            try? await services.store.chainAudit()
            throw error
        }
        try await services.store.chainAudit()
    }

    private func writeCollected() async throws {
        let entries = services.refusals.takeDue()
        let uses = services.usage.takeDue()
        guard !entries.isEmpty || !uses.keys.isEmpty || !uses.admins.isEmpty else { return }
        do {
            try await services.store.write(.rest) { store in
                for entry in entries { try store.audit(entry) }
                try store.noteUse(keys: uses.keys, admins: uses.admins)
            }
        } catch {
            // A row that fails for its own reason would make all later ones fail with it.
            if PealError.isOutage(error) {
                services.refusals.giveBack(entries)
                services.usage.giveBack(uses)
            }
            throw error
        }
    }
}
