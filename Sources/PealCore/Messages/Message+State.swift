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
