extension Moment {
    /// The life of a moment; `docs/states.md` draws it. The raw value is stored; what is below `sent` is not over.
    package enum State: Int64, CaseIterable, Sendable, Hashable {
        /// The server's: a claim, the fallback, a cancellation and a replacement compete for it, and one wins.
        case open = 1
        /// A device's own until the claim ends.
        case claimed = 2
        case sending = 3
        /// The claimant did not confirm: an alert goes to it alone.
        case recovering = 4
        case sent = 5
        case shown = 6
        case opened = 7
        case dismissed = 8
        case cancelled = 9
        case failed = 10

        package var isUnfinished: Bool { rawValue < State.sent.rawValue }

        /// The word in messages to people.
        package var name: String { String(describing: self) }

        /// The states that may follow; `open` and `sending` may also follow themselves (replaced, the next device).
        package var successors: Set<State> {
            switch self {
            case .open: [.open, .claimed, .sending, .cancelled, .failed]
            case .claimed: [.shown, .opened, .dismissed, .recovering, .failed]
            case .sending: [.sending, .sent, .shown, .opened, .dismissed, .failed]
            case .recovering: [.sent, .shown, .opened, .dismissed, .failed]
            case .sent: [.shown, .opened, .dismissed]
            case .shown: [.opened, .dismissed]
            case .opened, .dismissed, .cancelled, .failed: []
            }
        }

        /// What authors are told.
        package var status: Status {
            switch self {
            case .open, .claimed, .sending, .recovering: .pending
            case .sent, .shown, .dismissed: .delivered
            case .opened: .opened
            case .cancelled: .cancelled
            case .failed: .failed
            }
        }
    }

    /// A state as authors know it. The raw value stands in the API.
    package enum Status: String, CaseIterable, Sendable, Hashable {
        case pending, delivered, opened, cancelled, failed
    }
}
