internal import PealCore

/// A signed-in browser.
struct Session: Sendable {
    /// 32 hexadecimal digits.
    let id: String
    let holder: Holder
    /// What the holder's secret adds to every MAC.
    let binding: [UInt8]
    let createdAt: Timestamp
    /// When the cookie was written.
    let seenAt: Timestamp
}

/// Creates and reads session cookies. A cookie names its holder and carries a MAC under the holder's own secret, so
/// that nothing is stored for each session, and a session ends with its key. Sessions that ended early are in one
/// setting per holder.
struct Sessions: Sendable {
    let store: any Store
    let hasher: any KeyHasher
    let firstAdmin: FirstAdmin
    let dialect: DialectName
    /// The clocks of servers on one database differ by less.
    fileprivate static let skewMax = Duration.seconds(60)

    /// The value of a new cookie.
    func begin(_ holder: Holder, id: String, now: Timestamp) async throws -> String {
        let ledger = try await openLedger(of: holder, now: now)
        let session = Session(
            id: id, holder: holder, binding: await binding(of: holder, ledger), createdAt: now, seenAt: now)
        return cookie(session, seenAt: now)
    }

    /// A new cookie for a session in use; nil while the current one is recent.
    func renewed(_ session: Session, now: Timestamp) -> String? {
        now - session.seenAt < .seconds(60) ? nil : cookie(session, seenAt: now)
    }

    /// The session of a cookie; nil if the cookie is forged or too old, the session was ended, or its key was revoked
    /// or has expired.
    func session(_ cookie: String, now: Timestamp) async throws -> Session? {
        let parts = cookie.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, let created = Int64(parts[2]), let seen = Int64(parts[3]) else { return nil }
        let (createdAt, seenAt) = (Timestamp(milliseconds: created), Timestamp(milliseconds: seen))
        guard now < createdAt + .seconds(Limits.consoleSessionSeconds),
            now < seenAt + .seconds(Limits.consoleIdleSeconds), createdAt <= now + Self.skewMax
        else { return nil }
        let (found, kept) = try await store.read { store in
            (try holder(named: parts[0], in: store, now: now), try store.setting(Self.setting(parts[0])))
        }
        guard let found else { return nil }
        let ledger = SessionLedger(kept)
        let session = Session(
            id: parts[1], holder: found, binding: await binding(of: found, ledger), createdAt: createdAt,
            seenAt: seenAt)
        guard ConstantTime.areEqual(parts[4], mac(parts[0..<4].joined(separator: "."), session)) else { return nil }
        return ledger.hasEnded(session) ? nil : session
    }

    /// The holder for whom a sign-in link was created; nil if the link is invalid.
    func holder(of link: SignInLinkVerbs.Taken, _ links: SignInLinkVerbs, now: Timestamp) async throws -> Holder? {
        guard let found = try await store.read({ try holder(named: link.holder, in: $0, now: now) }) else { return nil }
        var hash = found.secretHash
        if hash == nil { hash = await firstAdmin.hash(store) }
        return hash.map { links.proof(ofHash: $0) == link.proof } == true ? found : nil
    }

    private func holder(named name: String, in store: any StoreReading, now: Timestamp) throws -> Holder? {
        if name == Admin.first { return .firstAdmin }
        if name.hasPrefix(Admin.sessionPrefix) {
            let found = try store.storedAdmin(publicHalf: String(name.dropFirst(Admin.sessionPrefix.count)))
            return found.map { .admin($0.admin, secretHash: $0.secretHash) }
        }
        guard let key = try store.storedKey(dialect, publicHalf: name), key.key.expiresAt.map({ $0 > now }) ?? true
        else { return nil }
        return .key(key)
    }

    /// Ends one session, or every session of its holder.
    func end(_ session: Session, everywhere: Bool, now: Timestamp) async throws {
        let name = Self.setting(session.holder.cookieName)
        try await store.write(.control) { store in
            var ledger = SessionLedger(try store.setting(name))
            ledger.end(session, everywhere: everywhere, now: now)
            try store.setSetting(name, ledger.bytes, until: ledger.expiry(at: now))
        }
    }

    /// The ledger for a session that begins now. If all sessions ended at an instant that is still to come, because the
    /// clock was set back since, a new era begins: the session would otherwise count as ended.
    private func openLedger(of holder: Holder, now: Timestamp) async throws -> SessionLedger {
        let name = Self.setting(holder.cookieName)
        let kept = SessionLedger(try await store.read { try $0.setting(name) })
        guard kept.isAhead(of: now) else { return kept }
        return try await store.write(.control) { store in
            var ledger = SessionLedger(try store.setting(name))
            guard ledger.isAhead(of: now) else { return ledger }
            ledger.beginEra()
            try store.setSetting(name, ledger.bytes, until: ledger.expiry(at: now))
            return ledger
        }
    }

    /// The secret that forms of the session carry.
    func formSecret(_ session: Session) -> String { keyedHash("console form\n\(session.id)", session) }

    /// A MAC that only this session can make of `facts`, which begin with what they are about.
    func mark(_ facts: String, _ session: Session) -> String { keyedHash("\(facts)\n\(session.id)", session) }

    private func cookie(_ session: Session, seenAt: Timestamp) -> String {
        let facts = [
            session.holder.cookieName, session.id, String(session.createdAt.milliseconds),
            String(seenAt.milliseconds),
        ].joined(separator: ".")
        return "\(facts).\(mac(facts, session))"
    }

    private func mac(_ facts: String, _ session: Session) -> String { keyedHash("console session\n\(facts)", session) }

    /// The hexadecimal MAC under the server's secret.
    private func keyedHash(_ facts: String, _ session: Session) -> String {
        Hex.encode(hasher.hash("\(facts)\n\(Hex.encode(session.binding))"))
    }

    /// Another admin token, another key with the same secret, or another era ends old sessions.
    private func binding(of holder: Holder, _ ledger: SessionLedger) async -> [UInt8] {
        let own =
            switch holder {
            case .firstAdmin: await firstAdmin.hash(store)
            case .admin(let admin, let hash): hash + admin.id.bytes
            case .key(let stored): stored.secretHash + stored.key.id.bytes
            }
        return own + Array(String(ledger.era.milliseconds).utf8)
    }

    private static func setting(_ name: String) -> String { "console.sessions.\(name)" }
}

/// Which sessions of one holder ended before their time. Entries that no cookie can outlive are dropped.
private struct SessionLedger {
    private static let endedMax = 256
    /// Sessions that began at or before this instant have ended.
    private var after = Timestamp(milliseconds: 0)
    /// The last `after` from which the clock was set back; zero for none. Sessions from before that have ended: those
    /// that began while the clock was ahead would otherwise be valid again when it has caught up.
    private(set) var era = Timestamp(milliseconds: 0)
    private var ended: [(id: String, until: Timestamp)] = []

    init(_ bytes: [UInt8]?) {
        guard let bytes, let json = try? JSONParser.parse(bytes, isStored: true) else { return }
        after = Timestamp(milliseconds: json["after"]?.integerValue ?? 0)
        era = Timestamp(milliseconds: json["era"]?.integerValue ?? 0)
        for item in json["ended"]?.arrayValue ?? [] {
            guard let id = item["id"]?.stringValue, let until = item["until"]?.integerValue else { continue }
            ended.append((id, Timestamp(milliseconds: until)))
        }
    }

    var bytes: [UInt8] {
        let json: JSON = [
            "after": .integer(after.milliseconds), "era": .integer(era.milliseconds),
            "ended": .array(ended.map { ["id": .string($0.id), "until": .integer($0.until.milliseconds)] }),
        ]
        return json.bytes
    }

    func hasEnded(_ session: Session) -> Bool {
        session.createdAt <= after || ended.contains { $0.id == session.id }
    }

    func isAhead(of now: Timestamp) -> Bool { after > now + Sessions.skewMax }

    mutating func beginEra() { (era, after) = (after, Timestamp(milliseconds: 0)) }

    /// No cookie whose session has ended is valid after this instant, even if another server's clock is slightly ahead.
    func expiry(at now: Timestamp) -> Timestamp {
        let last = max(now, after, era) + .seconds(Limits.consoleSessionSeconds)
        return ended.reduce(last) { max($0, $1.until) } + .seconds(120)
    }

    /// If there are too many entries, all sessions end instead.
    mutating func end(_ session: Session, everywhere: Bool, now: Timestamp) {
        ended.removeAll { $0.until <= now }
        ended.append((session.id, session.createdAt + .seconds(Limits.consoleSessionSeconds)))
        guard everywhere || ended.count > Self.endedMax else { return }
        after = now
        ended = []
    }
}
