/// What an author asked to send: durable from the moment it is accepted.
package struct Message: Sendable, Hashable {
    package var id: MessageID
    package var app: AppKey
    package var state: State
    package var dialect: DialectName
    package var campaignID: String?
    package var createdAt: Timestamp
    /// When sending starts; nil = at once.
    package var startAt: Timestamp?
    /// `MessageLife.end`: nothing is sent from this instant on.
    package var expiresAt: Timestamp
    /// When the audience was fixed. Devices that joined later are not in it.
    package var cutoffAt: Timestamp?
    package var firstSentAt: Timestamp?
    package var endedAt: Timestamp?
    /// Why a failed message failed.
    package var failure: String?
    /// The end of its delivery window; nil = it has none, and no moments.
    package var windowUntil: Timestamp?

    package init(
        id: MessageID, app: AppKey, state: State, dialect: DialectName, campaignID: String?, createdAt: Timestamp,
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

extension Message {
    /// The life of a message; `docs/states.md` draws it. The raw value is stored.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        case scheduled = 1
        case planning = 2
        case sending = 3
        case paused = 4
        case sent = 5
        case cancelled = 6
        case expired = 7
        case failed = 8

        package var isFinal: Bool { self == .sent || self == .cancelled || self == .expired || self == .failed }

        /// The states that may follow.
        package var successors: Set<State> {
            switch self {
            case .scheduled: [.planning, .sending, .paused, .cancelled, .expired]
            case .planning: [.sending, .paused, .sent, .cancelled, .expired, .failed]
            case .sending: [.paused, .sent, .cancelled, .expired, .failed]
            case .paused: [.scheduled, .planning, .sending, .sent, .cancelled, .expired]
            case .sent, .cancelled, .expired, .failed: []
            }
        }

        /// The word in the API.
        package var name: String { String(describing: self) }

        package init?(name: String) {
            guard let state = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = state
        }
    }
}

/// A checked request to send: everything that is needed to make the message durable. It has an id already, because
/// dialects put it into payloads.
package struct MessageDraft: Sendable, Hashable {
    package var id: MessageID
    package var app: AppKey
    package var dialect: DialectName
    package var campaignID: String?
    package var audience: Audience
    package var content: Content
    package var options: MessageOptions
    /// nil = at once.
    package var startAt: Timestamp?
    package var createdAt: Timestamp
    /// `MessageLife.end`.
    package var expiresAt: Timestamp
    /// What a dialect must show of the request later: its bytes, or a part in JSON; nil = nothing.
    package var source: [UInt8]?
    /// Set where it is shown at some moment inside a window. Its audience then consists of users only.
    package var window: DeliveryWindow?

    package init(
        id: MessageID, app: AppKey, dialect: DialectName, campaignID: String? = nil, audience: Audience,
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

extension Message {
    /// A message as its draft makes it: waiting for its start or its moments, else to be planned at once.
    package init(_ draft: MessageDraft) {
        let startsLater = draft.startAt.map { $0 > draft.createdAt } ?? false
        self.init(
            id: draft.id, app: draft.app, state: startsLater || draft.window != nil ? .scheduled : .planning,
            dialect: draft.dialect, campaignID: draft.campaignID, createdAt: draft.createdAt, startAt: draft.startAt,
            expiresAt: draft.expiresAt, windowUntil: draft.window?.until)
    }
}

/// Which messages a listing shows; all conditions given hold. Newest first.
package struct MessageFilter: Sendable, Hashable {
    package var state: Message.State?
    package var campaignID: String?
    package var dialect: DialectName?

    package init(state: Message.State? = nil, campaignID: String? = nil, dialect: DialectName? = nil) {
        self.state = state
        self.campaignID = campaignID
        self.dialect = dialect
    }
}
