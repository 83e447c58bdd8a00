/// Something that webhooks are told of: written in the transaction that made it true, so that neither a crash tells of
/// what never was nor keeps silent about what is.
package struct OutboxEvent: Sendable, Hashable {
    /// Unique in a webhook's queue: an event that is written twice is there once.
    package var id: OutboxEventID
    package var app: AppKey
    /// As `message.sent` or `device_transition`. Events of different types never share a request.
    package var type: String
    /// What is told, as JSON of at most `Limits.webhookPayloadBytesMax`; nil where the report of `message` is composed
    /// when it is sent.
    package var payload: [UInt8]?
    package var message: MessageID?
    package var createdAt: Timestamp
    /// From when it is sent, even alone. The store sets it by the webhook's kind.
    package var dueAt: Timestamp

    package init(
        id: OutboxEventID, app: AppKey, type: String, payload: [UInt8]?, message: MessageID? = nil,
        createdAt: Timestamp, dueAt: Timestamp? = nil
    ) {
        self.id = id
        self.app = app
        self.type = type
        self.payload = payload
        self.message = message
        self.createdAt = createdAt
        self.dueAt = dueAt ?? createdAt
    }
}

extension OutboxEvent {
    /// The end of a message: `message.sent`, `message.expired`, `message.cancelled` or `message.failed`. A message ends
    /// once, so its id is the event's.
    package init(endOf message: MessageID, app: AppKey, state: Message.State, at: Timestamp) {
        self.init(
            id: OutboxEventID(high: message.high, low: message.low), app: app, type: "message.\(state.name)",
            payload: nil, message: message, createdAt: at)
    }
}
