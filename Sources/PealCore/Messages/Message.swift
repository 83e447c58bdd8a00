/// What an author asked to send: durable from the moment it is accepted.
package struct Message: Sendable, Hashable {
    package var id: MessageID
    package var app: AppKey
    package var state: State
    package var dialect: APIKey.Dialect
    package var campaignID: String?
    package var createdAt: Timestamp
    /// When sending starts; nil = at once.
    package var startAt: Timestamp?
    /// Nothing is sent from this instant on.
    package var expiresAt: Timestamp
    /// When the audience was fixed: who joined later is not in it.
    package var cutoffAt: Timestamp?
    package var firstSentAt: Timestamp?
    package var endedAt: Timestamp?
    /// Why a failed message failed.
    package var failure: String?
    /// The end of its window of delivery; nil = it has none, and no moments.
    package var windowUntil: Timestamp?

    package init(
        id: MessageID, app: AppKey, state: State, dialect: APIKey.Dialect, campaignID: String?, createdAt: Timestamp,
        startAt: Timestamp?, expiresAt: Timestamp, cutoffAt: Timestamp? = nil, firstSentAt: Timestamp? = nil,
        endedAt: Timestamp? = nil, failure: String? = nil, windowUntil: Timestamp? = nil
    ) {
        self.id = id
        self.app = app
        self.state = state
        self.dialect = dialect
        self.campaignID = campaignID
        self.createdAt = createdAt
        self.startAt = startAt
        self.expiresAt = expiresAt
        self.cutoffAt = cutoffAt
        self.firstSentAt = firstSentAt
        self.endedAt = endedAt
        self.failure = failure
        self.windowUntil = windowUntil
    }
}
