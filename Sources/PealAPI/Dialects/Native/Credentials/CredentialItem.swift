internal import PealCore

/// One line of a list of credentials: a record, or one VAPID key of a Web Push record.
struct CredentialItem {
    let record: CredentialRecord
    /// Members of this item alone.
    private let own: JSON.Members

    /// One item a record, and of Web Push one a key, the oldest first.
    static func items(_ record: CredentialRecord) -> [CredentialItem] {
        guard record.provider == .webpush, let keys = record.facts["keys"]?.arrayValue, !keys.isEmpty else {
            return [CredentialItem(record: record, own: record.facts)]
        }
        return keys.enumerated().map { index, key in
            var members = key.objectValue ?? .init()
            if index == keys.count - 1 { members["newest"] = true }
            return CredentialItem(record: record, own: members)
        }
    }

    /// The item of what was put last.
    static func newest(_ record: CredentialRecord) -> CredentialItem {
        items(record).last ?? CredentialItem(record: record, own: record.facts)
    }

    func json(now: Timestamp) -> JSON {
        var members = JSON.Members([("provider", .string(record.provider.rawValue))])
        if record.provider == .apns { members["environment"] = .string(record.environment.rawValue) }
        members["kind"] = .string(record.kind)
        members["fingerprint"] = .string(record.fingerprint)
        for (name, value) in own.pairs { members[name] = value }
        if members["created_at"] == nil { members["created_at"] = .string(record.createdAt.description) }
        members["expires_at"] = record.expiresAt.map { .string($0.description) } ?? .null
        members["warning"] = record.warning(at: now).map(JSON.string)
        members["health"] = Self.json(record.health)
        return .object(members)
    }

    private static func json(_ health: CredentialRecord.Health) -> JSON {
        switch health {
        case .unknown: ["state": "unknown"]
        case .ok(let at): ["state": "ok", "at": .string(at.description)]
        case .stopped(let at, let reason):
            ["state": "stopped", "at": .string(at.description), "reason": .string(reason)]
        }
    }
}
