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
