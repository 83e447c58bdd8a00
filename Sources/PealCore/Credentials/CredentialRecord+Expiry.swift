extension CredentialRecord {
    /// Days until the end, rounded down: 0 on the last day, negative from the end on; nil for what does not end.
    package func daysLeft(at now: Timestamp) -> Int64? {
        guard let expiresAt else { return nil }
        let days = (expiresAt - now).milliseconds.floorDivided(by: 86_400_000)
        return expiresAt > now ? days : min(days, -1)
    }

    /// The first of `Limits.expiryWarningDays` that still covers what is left, 0 once it has ended: a warning is worth
    /// more the smaller it is. nil while there is time, and for what does not end.
    package func warningDays(at now: Timestamp) -> Int64? {
        guard let left = daysLeft(at: now) else { return nil }
        if left < 0 { return 0 }
        return Limits.expiryWarningDays.filter { left < $0 }.min()
    }

    /// What people are told of an end that is near or past; nil while there is time.
    package func warning(at now: Timestamp) -> String? {
        guard warningDays(at: now) != nil, let left = daysLeft(at: now) else { return nil }
        switch left {
        case ..<0: return "expired"
        case 0: return "expires in less than a day"
        case 1: return "expires in 1 day"
        default: return "expires in \(left) days"
        }
    }
}
