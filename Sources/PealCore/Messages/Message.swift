/// What an author asked to send. It is durable from the moment Peal accepts it.
package struct Message: Sendable, Hashable {
    package var id: MessageID
    package var app: AppKey
    package var state: State
    package var dialect: DialectName
    package var campaignID: String?
    package var createdAt: Timestamp
    /// When sending starts; nil for immediately.
    package var startAt: Timestamp?
    /// `MessageLife.end`: Peal sends nothing from this instant on.
    package var expiresAt: Timestamp
    /// When the audience was fixed. It does not contain devices that joined later.
    package var cutoffAt: Timestamp?
    package var firstSentAt: Timestamp?
    package var endedAt: Timestamp?
    /// Why the message failed.
    package var failure: String?
    /// The end of its delivery window; nil if it has none and no moments.
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
    /// The states of a message, drawn in `docs/states.md`. The raw value is stored.
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

        /// The states that may follow this one.
        package var successors: Set<State> {
            switch self {
            case .scheduled: [.planning, .sending, .paused, .cancelled, .expired]
            case .planning: [.sending, .paused, .sent, .cancelled, .expired, .failed]
            case .sending: [.paused, .sent, .cancelled, .expired, .failed]
            case .paused: [.scheduled, .planning, .sending, .sent, .cancelled, .expired]
            case .sent, .cancelled, .expired, .failed: []
            }
        }

        /// The state's name in the API.
        package var name: String { String(describing: self) }

        package init?(name: String) {
            guard let state = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = state
        }
    }
}

/// A checked request to send: everything needed to make the message durable. It already has an id, because dialects put
/// the id into payloads.
package struct MessageDraft: Sendable, Hashable {
    package var id: MessageID
    package var app: AppKey
    package var dialect: DialectName
    package var campaignID: String?
    package var audience: Audience
    package var content: Content
    package var options: MessageOptions
    /// nil for immediately.
    package var startAt: Timestamp?
    package var createdAt: Timestamp
    /// `MessageLife.end`.
    package var expiresAt: Timestamp
    /// What a dialect must later show of the request: its bytes, or a part as JSON; nil for nothing.
    package var source: [UInt8]?
    /// Set if the message is shown at some moment in a delivery window. Its audience then consists only of users.
    package var window: DeliveryWindow?
    /// Whether the message is kept out of campaigns and statistics. It is stored without its campaign then.
    package var isTest = false

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

extension MessageDraft {
    /// The environment whose devices the message reaches; nil for both.
    package var audienceEnvironment: Environment? { options.audienceEnvironment(in: content) }
}

extension Message {
    /// Where a paused message continues: one that has no slices yet is planned, or waits for its start.
    package func resumed(at now: Timestamp) -> State {
        if cutoffAt != nil { return .sending }
        return startAt.map { $0 > now } == true ? .scheduled : .planning
    }

    /// The message in its first state: it waits for its start or its moments, or is planned immediately.
    package init(_ draft: MessageDraft) {
        let startsLater = draft.startAt.map { $0 > draft.createdAt } ?? false
        self.init(
            id: draft.id, app: draft.app, state: startsLater || draft.window != nil ? .scheduled : .planning,
            dialect: draft.dialect, campaignID: draft.campaignID, createdAt: draft.createdAt, startAt: draft.startAt,
            expiresAt: draft.expiresAt, windowUntil: draft.window?.until)
    }
}

/// Which messages a list contains: those that meet all conditions given, newest first.
package struct MessageFilter: Sendable, Hashable {
    package var state: Message.State?
    package var campaignID: String?
    package var dialect: DialectName?
    /// Accepted at this instant or later.
    package var from: Timestamp?
    /// Accepted before this instant.
    package var to: Timestamp?
    /// A part of the title or the body, ignoring letter case. Searches `Limits.searchedRowsMax` messages.
    package var text: String?

    package init(state: Message.State? = nil, campaignID: String? = nil, dialect: DialectName? = nil) {
        self.state = state
        self.campaignID = campaignID
        self.dialect = dialect
    }
}
