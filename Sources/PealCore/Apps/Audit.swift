/// Who did what to which object, when and from where.
package struct AuditEntry: Sendable, Hashable {
    package var at: Timestamp
    package var actor: Actor
    /// The client's address; nil for what the server did on its own.
    package var address: String?
    package var requestID: String?
    /// nil for an action that does not concern a single app. It is kept when the app is deleted.
    package var app: AppID?
    /// Such as `credential.put`.
    package var action: String
    package var object: String
    package var outcome: Outcome

    package init(
        at: Timestamp, actor: Actor, address: String? = nil, requestID: String? = nil, app: AppID? = nil,
        action: String, object: String, outcome: Outcome = .ok
    ) {
        self.at = at
        self.actor = actor
        self.address = address
        self.requestID = requestID
        self.app = app
        self.action = action
        self.object = object
        self.outcome = outcome
    }

    package enum Outcome: String, CaseIterable, Sendable {
        case ok, refused
    }
}

/// Who makes a change. A literal is an id.
package struct Actor: Sendable, Hashable, ExpressibleByStringLiteral {
    /// `admin` for the first admin, otherwise the id of a key or an admin, or the name of a part of the server.
    package let id: String
    /// The name of the key or the admin.
    package let name: String?

    package init(_ id: String, name: String? = nil) {
        self.id = id
        self.name = name
    }

    package init(stringLiteral id: String) { self.init(id) }
}

/// An entry at its position in the audit log.
package struct AuditRow: Sendable, Hashable {
    /// From 1, without gaps.
    package let number: Int64
    package let entry: AuditEntry
    /// SHA-256 in hexadecimal of the hash of the row before, a line end, and `content` as compact JSON.
    package let hash: String

    package init(number: Int64, entry: AuditEntry, hash: String) {
        self.number = number
        self.entry = entry
        self.hash = hash
    }

    /// A UUID of version 7 (RFC 9562 §5.7) made of time and number.
    package var id: Identifier<AuditRow> { Self.id(number, entry.at) }

    private static func id(_ number: Int64, _ at: Timestamp) -> Identifier<AuditRow> {
        Identifier(
            high: UInt64(bitPattern: at.milliseconds) << 16 | 0x7000,
            low: UInt64(bitPattern: number) & ~(0b11 << 62) | 0b10 << 62)
    }

    /// The row as it is shown, without its hash.
    package static func content(_ number: Int64, _ entry: AuditEntry) -> JSON {
        [
            "id": .string(id(number, entry.at).description), "at": .string(entry.at.description),
            "actor": .string(entry.actor.id), "actor_name": entry.actor.name.map(JSON.string) ?? .null,
            "address": entry.address.map(JSON.string) ?? .null,
            "request_id": entry.requestID.map(JSON.string) ?? .null,
            "app": entry.app.map { .string($0.description) } ?? .null, "action": .string(entry.action),
            "object": .string(entry.object), "outcome": .string(entry.outcome.rawValue),
        ]
    }

    /// The row as it is shown.
    package var json: JSON {
        var members = Self.content(number, entry).objectValue ?? .init()
        members["hash"] = .string(hash)
        return .object(members)
    }
}

/// Which rows of the audit log a request asks for.
package struct AuditFilter: Sendable, Hashable {
    package var app: AppID?
    /// The first instant of the rows.
    package var from: Timestamp?
    /// The instant before which the rows end.
    package var to: Timestamp?
    /// The id or the name of an actor.
    package var actor: String?
    /// An action, or its first word for all actions on such objects.
    package var action: String?

    package init(
        app: AppID? = nil, from: Timestamp? = nil, to: Timestamp? = nil, actor: String? = nil, action: String? = nil
    ) {
        self.app = app
        self.from = from
        self.to = to
        self.actor = actor
        self.action = action
    }
}

/// The result of one part of a search of the audit log.
package struct AuditPart: Sendable {
    package let rows: [AuditRow]
    /// The cursor of the next part; nil at the end of the log.
    package let next: Int64?

    package init(rows: [AuditRow], next: Int64?) {
        self.rows = rows
        self.next = next
    }
}

/// The result of one part of a check of the audit log.
package enum AuditCheck: Sendable, Hashable {
    /// Rows up to that number are sound. The next part begins after it.
    case incomplete(after: Int64, hash: String, rows: Int)
    /// Every row is sound.
    case sound(rows: Int)
    /// The first row that was changed or is missing.
    case broken(number: Int64, reason: String)
}

/// Reads and checks the audit log.
package struct AuditVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// Rows in descending order of number, starting before `cursor`, without those that cannot be read.
    package func rows(
        _ filter: AuditFilter, before cursor: Int64?, limit: Int
    ) async throws -> (items: [AuditRow], isComplete: Bool) {
        var (found, isComplete, next) = ([AuditRow](), true, cursor)
        repeat {
            try Task.checkCancellation()
            let (before, rest) = (next, limit - found.count)
            let (part, isWhole) = try await store.checkedList(.heavy) {
                try $0.auditRows(filter, before: before, limit: rest + $1, among: Self.searchedAtOnce(filter))
            }
            found += part.rows
            (isComplete, next) = (isComplete && isWhole, part.next)
        } while next != nil && found.count < limit
        return (found, isComplete)
    }

    /// Rows in ascending order of number, starting after `cursor`.
    package func rows(_ filter: AuditFilter, after cursor: Int64, limit: Int) async throws -> [AuditRow] {
        var (found, next): ([AuditRow], Int64?) = ([], cursor)
        while let after = next, found.count < limit {
            try Task.checkCancellation()
            let rest = limit - found.count
            let part = try await store.read(.heavy) {
                try $0.auditRows(filter, after: after, limit: rest, among: Self.searchedAtOnce(filter))
            }
            found += part.rows
            next = part.next
        }
        return found
    }

    /// How many rows are searched in one transaction. No index contains actors and actions, so millions of rows may be
    /// read for a rare one.
    private static func searchedAtOnce(_ filter: AuditFilter) -> Int64 {
        filter.actor == nil && filter.action == nil ? .max : 50_000
    }

    /// How many rows are checked in one transaction.
    private static let checkedAtOnce = 1000

    /// Checks every row against the one before and the last one against the end of the log that the store keeps
    /// separately.
    /// - Returns: `sound` or `broken`.
    package func verify() async throws -> AuditCheck {
        var check = AuditCheck.incomplete(after: 0, hash: "", rows: 0)
        while case .incomplete = check {
            let before = check
            check = try await store.read(.heavy) { try $0.checkAudit(before, limit: Self.checkedAtOnce) }
        }
        return check
    }
}
