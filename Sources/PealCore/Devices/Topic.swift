/// A label that devices subscribe to.
package struct Topic: Sendable, Hashable {
    package var name: String
    /// A number within the app, for dialects that name topics by one.
    package var number: Int64
    /// From this instant on it is neither listed nor targetable.
    package var expiresAt: Timestamp?
    package var deviceCount: Int

    package init(name: String, number: Int64, expiresAt: Timestamp?, deviceCount: Int) {
        self.name = name
        self.number = number
        self.expiresAt = expiresAt
        self.deviceCount = deviceCount
    }
}

/// Which topics that have not expired a listing by pages shows; all conditions given hold.
package struct TopicSearch: Sendable, Hashable {
    /// A part of the name, without regard to letter case. Looks at `Limits.searchedRowsMax` topics at most.
    package var containing: String?
    /// Whether it has an expiry; nil = with and without.
    package var hasExpiry: Bool?

    package init(containing: String? = nil, hasExpiry: Bool? = nil) {
        self.containing = containing
        self.hasExpiry = hasExpiry
    }
}

/// A topic without a count of its devices, which is dear.
package struct TopicEntry: Sendable, Hashable {
    package let number: Int64
    package let name: String
    package let expiresAt: Timestamp?

    package init(number: Int64, name: String, expiresAt: Timestamp?) {
        self.number = number
        self.name = name
        self.expiresAt = expiresAt
    }
}
