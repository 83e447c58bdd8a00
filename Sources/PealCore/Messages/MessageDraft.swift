/// A checked request to send: everything that is needed to make the message durable. Its id is made before, because
/// dialects put it into payloads.
package struct MessageDraft: Sendable, Hashable {
    package var id: MessageID
    package var app: AppKey
    package var dialect: APIKey.Dialect
    package var campaignID: String?
    package var audience: Audience
    package var content: Content
    package var options: MessageOptions
    /// nil = at once.
    package var startAt: Timestamp?
    package var createdAt: Timestamp
    /// See `Message.expiresAt`: the engine's own end, never later than the limit on a message's life.
    package var expiresAt: Timestamp
    /// What a dialect must show again of the request: its own bytes, or a part in JSON; nil else.
    package var source: [UInt8]?
    /// Set where it is shown at some moment inside a window; its audience is then nothing but users.
    package var window: DeliveryWindow?

    package init(
        id: MessageID, app: AppKey, dialect: APIKey.Dialect, campaignID: String? = nil, audience: Audience,
        content: Content, options: MessageOptions = .init(), startAt: Timestamp? = nil, createdAt: Timestamp,
        expiresAt: Timestamp, source: [UInt8]? = nil, window: DeliveryWindow? = nil
    ) {
        self.id = id
        self.app = app
        self.dialect = dialect
        self.campaignID = campaignID
        self.audience = audience
        self.content = content
        self.options = options
        self.startAt = startAt
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.source = source
        self.window = window
    }
}
