package import PealCore

extension StoreWriting {
    /// As `fireDueMoments(now:limit:quiet:)`, without quiet hours.
    package func fireDueMoments(now: Timestamp, limit: Int) throws -> Int {
        try fireDueMoments(now: now, limit: limit, quiet: .none)
    }
}
