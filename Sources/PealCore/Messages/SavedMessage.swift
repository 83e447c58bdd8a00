/// A saved message: a draft to finish, or a template to start from.
package struct SavedMessage: Sendable, Hashable {
    package let kind: Kind
    package let name: String
    /// The members of a request to send a message; any of them may be missing.
    package var request: JSON
    package var createdAt: Timestamp
    package var changedAt: Timestamp

    package init(kind: Kind, name: String, request: JSON, createdAt: Timestamp, changedAt: Timestamp) {
        self.kind = kind
        self.name = name
        self.request = request
        self.createdAt = createdAt
        self.changedAt = changedAt
    }

    /// The raw value is stored.
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        case draft, template
    }
}

/// Saves and deletes drafts and templates.
package struct SavedMessageVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// Saves the message under its name, or replaces the message with that name.
    /// - Throws: `body_too_large`; `conflict` when the app has too many.
    package func put(
        _ message: SavedMessage, app: AppKey, _ call: VerbCall
    ) async throws -> (message: SavedMessage, isNew: Bool) {
        guard message.request.bytes.count <= Limits.savedMessageBytesMax else {
            throw PealError(.bodyTooLarge, "a saved message may have at most \(Limits.savedMessageBytesMax) bytes")
        }
        return try await store.write(.control) { store in
            let result = try store.putSavedMessage(message, app: app)
            try store.audit(
                call, app: app, "\(message.kind.rawValue).put", "\(message.kind.rawValue) \(message.name)")
            return result
        }
    }

    /// - Throws: `not_found`.
    package func delete(_ kind: SavedMessage.Kind, _ name: String, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteSavedMessage(app: app, kind, name: name) else {
                throw PealError.notFound(kind.rawValue)
            }
            try store.audit(call, app: app, "\(kind.rawValue).delete", "\(kind.rawValue) \(name)")
        }
    }
}
