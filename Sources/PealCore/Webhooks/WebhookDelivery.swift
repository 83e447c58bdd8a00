/// One request to a webhook, with its attempts. Every attempt carries its id, so that the receiver recognizes a
/// repetition.
package struct WebhookDelivery: Sendable, Hashable {
    package var id: WebhookDeliveryID
    package var webhook: WebhookReference
    package var type: String
    package var state: State
    /// The number of events in the request.
    package var itemCount: Int
    package var attempts: Int
    /// The HTTP status of the last attempt; nil before the first attempt or if there was no answer.
    package var lastStatus: Int?
    /// Why the last attempt got no answer, such as `Timeout`.
    package var lastError: String?
    package var createdAt: Timestamp
    /// When its retries began: when it was created, or when a retry was requested.
    package var startedAt: Timestamp
    package var nextAttemptAt: Timestamp
    /// When it was delivered or Peal gave it up.
    package var endedAt: Timestamp?

    package init(
        id: WebhookDeliveryID, webhook: WebhookReference, type: String, state: State = .pending, itemCount: Int,
        attempts: Int = 0, lastStatus: Int? = nil, lastError: String? = nil, createdAt: Timestamp,
        startedAt: Timestamp? = nil, nextAttemptAt: Timestamp? = nil, endedAt: Timestamp? = nil
    ) {
        self.id = id
        self.webhook = webhook
        self.type = type
        self.state = state
        self.itemCount = itemCount
        self.attempts = attempts
        self.lastStatus = lastStatus
        self.lastError = lastError
        self.createdAt = createdAt
        self.startedAt = startedAt ?? createdAt
        self.nextAttemptAt = nextAttemptAt ?? createdAt
        self.endedAt = endedAt
    }
}

extension WebhookDelivery {
    /// The states of a delivery, drawn in `docs/states.md`. The raw value is stored.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        case pending = 0
        case delivered = 1
        case failed = 2

        /// The states that may follow this one.
        package var successors: Set<State> {
            switch self {
            case .pending: [.pending, .delivered, .failed]
            case .delivered: []
            case .failed: [.pending]
            }
        }

        /// The state's name in the API.
        package var name: String { String(describing: self) }
    }

    /// Why a delivery failed without being sent, as `lastError` shows it.
    package enum Refusal: String, Sendable {
        /// The message's retention has ended, or its report cannot be composed.
        case noReport = "NoReport"
        /// The webhook's receiver had answered that it is gone.
        case disabled = "Disabled"
    }
}

/// A delivery that this process may send until its lease ends.
package struct LeasedDelivery: Sendable, Hashable {
    package var delivery: WebhookDelivery
    package var body: [UInt8]
    package var owner: String
    package var term: Int64

    package init(delivery: WebhookDelivery, body: [UInt8], owner: String, term: Int64) {
        self.delivery = delivery
        self.body = body
        self.owner = owner
        self.term = term
    }
}

/// An event for webhooks. It is written in the transaction that causes it, so that no crash reports what did not happen
/// or loses what did.
package struct OutboxEvent: Sendable, Hashable {
    /// Unique in a webhook's queue: an event that is written twice is queued once.
    package var id: OutboxEventID
    package var app: AppKey
    /// The event's type, such as `message.sent` or `device_transition`. Events of different types never share a
    /// request.
    package var type: String
    /// The payload, as JSON of at most `Limits.webhookPayloadBytesMax`; nil if the report of `message` is composed
    /// when it is sent.
    package var payload: [UInt8]?
    package var message: MessageID?
    package var createdAt: Timestamp
    /// When Peal sends it even without other events. The store sets it by the webhook's kind.
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
