internal import HTTPTypes
internal import PealCore

/// The audit log: who did what to which object.
struct NativeAudit: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "/peal/v1/audit", .admin) { call in try await list(call, app: nil) },
            Endpoint(.get, "\(app)/audit", .app(.manage)) { call in try await list(call, app: try call.app()) },
        ]
    }

    private func list(_ call: Call, app: App?) async throws -> Answer {
        let list = try NativeList(call.query, by: .number)
        let entries = try await services.store.write(.rest) { store in
            let entries = try store.auditEntries(app: app?.key, before: list.number, limit: list.fetchCount)
            var ids: [AppKey: AppID] = [:]
            for key in Set(entries.compactMap(\.entry.app)) { ids[key] = try store.app(key: key)?.id }
            return entries.map { Entry(number: $0.number, entry: $0.entry, app: $0.entry.app.flatMap { ids[$0] }) }
        }
        return list.answer(entries, cursor: { NativeList.bytes($0.number) }, json: \.json)
    }

    private struct Entry: Sendable {
        let number: Int64
        let entry: AuditEntry
        let app: AppID?

        var json: JSON {
            .compact([
                ("at", .string(entry.at.description)), ("app", app.map { .string($0.description) }),
                ("actor", .string(entry.actor)), ("action", .string(entry.action)), ("object", .string(entry.object)),
            ])
        }
    }
}
