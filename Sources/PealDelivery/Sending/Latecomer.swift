internal import PealCore

/// Stragglers of a page that was settled without them: their slice, and where they stand in the page.
struct Latecomer: Sendable {
    /// A list slice, leased by this process.
    let slice: Slice
    let page: SentPage
    /// Ascending; the keys of `slice` in their order.
    let places: [Int]
    let locales: [String?]
    let lifetime: Lifetime
    let lostAnswer: MessageOptions.LostAnswer
    let key: AccessCache.Key
    let accessVersion: Int
    /// On `TimeSource.uptime`: when who has not answered is lost.
    let until: Duration
}
