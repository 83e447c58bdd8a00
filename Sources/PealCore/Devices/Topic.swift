/// A label that devices subscribe to.
package struct Topic: Sendable, Hashable {
    package var name: String
    /// The topic's number within the app, for dialects that identify topics by number.
    package var number: Int64
    /// From this instant on, lists and audiences no longer contain it.
    package var expiresAt: Timestamp?
    package var deviceCount: Int

    package init(name: String, number: Int64, expiresAt: Timestamp?, deviceCount: Int) {
        self.name = name
        self.number = number
        self.expiresAt = expiresAt
        self.deviceCount = deviceCount
    }
}

/// Which current topics a paged list contains: those that meet all conditions given.
package struct TopicSearch: Sendable, Hashable {
    /// A part of the name, ignoring letter case. Searches at most `Limits.searchedRowsMax` topics.
    package var containing: String?
    /// Whether the topic has an expiry; nil for both.
    package var hasExpiry: Bool?

    package init(containing: String? = nil, hasExpiry: Bool? = nil) {
        self.containing = containing
        self.hasExpiry = hasExpiry
    }
}

/// A topic without its device count, which is expensive.
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
