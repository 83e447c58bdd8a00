/// A mobile or web application whose devices Peal reaches.
package struct App: Sendable, Hashable {
    package var id: AppID
    package var key: AppKey
    package var name: String
    package var bundleID: String?
    /// The app's ids in dialects whose clients have their own.
    package var dialectIDs: [DialectName: String]
    package var settings: AppSettings
    package var createdAt: Timestamp

    package init(
        id: AppID, key: AppKey, name: String, bundleID: String? = nil,
        dialectIDs: [DialectName: String] = [:], settings: AppSettings = .init(), createdAt: Timestamp
    ) {
        self.id = id
        self.key = key
        self.name = name
        self.bundleID = bundleID
        self.dialectIDs = dialectIDs
        self.settings = settings
        self.createdAt = createdAt
    }
}

/// Creates, changes and deletes apps.
package struct AppVerbs: Sendable {
    package let store: any Store
    package let engine: any DeliveryEngine

    package init(store: any Store, engine: any DeliveryEngine) {
        self.store = store
        self.engine = engine
    }

    /// - Throws: `conflict` when the id or a dialect's id is taken.
    package func create(
        _ app: App, _ call: VerbCall, reply: @escaping @Sendable (App) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.control, call, reply: reply) { store in
            try Self.claim(app, before: nil, in: store)
            let stored = try store.insertApp(app)
            try store.audit(call, app: stored.key, "app.create", "app \(stored.id)")
            return stored
        }.reply
    }

    /// Applies `edit` to the current app.
    /// - Throws: `not_found`; `conflict` when a dialect's id is taken; what `edit` throws.
    package func change(
        _ key: AppKey, _ call: VerbCall, edit: @escaping @Sendable (inout App) throws(PealError) -> Void
    ) async throws -> App {
        try await store.write(.control) { store in
            guard var app = try store.app(key: key) else { throw PealError.notFound("app") }
            let before = app
            try edit(&app)
            try Self.claim(app, before: before, in: store)
            try store.updateApp(app)
            if app.settings.rules.mayEndWaits(under: before.settings.rules) {
                try store.reviewWaits(app: app.key, now: call.now)
            }
            try store.audit(call, app: app.key, "app.change", "app \(app.id)")
            return app
        }
    }

    /// Refuses a dialect's id that would lead another app's clients here: its id of that dialect, or its own id. An app
    /// keeps the ids that it has.
    private static func claim(_ app: App, before: App?, in store: any StoreWriting) throws {
        for (dialect, id) in app.dialectIDs where before?.dialectIDs[dialect]?.lowercased() != id.lowercased() {
            let named = try AppID(id).flatMap { try store.app($0) }
            let holders = [try store.app(dialect: dialect, id: id), named].compactMap { $0 }
            guard holders.allSatisfy({ $0.key == before?.key }) else {
                let field = "\(dialect.rawValue)_app_id"
                throw PealError(.conflict, "another app has this \(field)", field: field)
            }
        }
    }

    /// Deletes everything of the app except the audit entry.
    /// - Throws: `not_found`.
    package func delete(_ app: App, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteApp(app.key, now: call.now) else { throw PealError.notFound("app") }
            try store.audit(call.entry("app.delete", "app \(app.id)", app: app.id))
        }
        for slot in CredentialSlot.all(app: app.key) { engine.credentialsChanged(at: slot) }
    }
}

/// The name of a dialect, or of one kind of its keys. Messages and keys are stored with it, and the API shows it. The
/// dialects declare the names; the core and the store only compare them.
package struct DialectName: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(stringLiteral value: String) { rawValue = value }

    package var description: String { rawValue }
}
