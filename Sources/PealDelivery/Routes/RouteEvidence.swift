internal import PealCore

/// What shows whether suspicious answers are the fault of a route's credential or of the addresses: receives the pages
/// of a route in the order in which they are judged. If anything was accepted under the same credential after an
/// address was called dead, the address is at fault.
struct RouteEvidence: Sendable {
    /// For how long an acceptance shows that the credential works.
    private static let life: Duration = .seconds(24 * 3600)
    private static let messagesMax = 64

    private var version = 0
    /// How many pages were judged.
    private var pages = 0
    /// The number of the last page of which something was accepted, and when.
    private var accepted: (page: Int, at: Duration)?
    /// For each message with doubted addresses, the number of the last page of them.
    private var doubted: [MessageID: Int] = [:]

    /// Takes the next page.
    mutating func take(_ page: RouteBreaker.Tally, version: Int, now: Duration) {
        if version != self.version {
            self = RouteEvidence()
            self.version = version
        }
        pages += 1
        if page.accepted > page.healed { accepted = (pages, now) }
    }

    /// Notes that addresses of the message in the page taken last are doubted.
    /// - Returns: whether they are the first ones of the message.
    mutating func doubt(_ message: MessageID?) -> Bool {
        guard let message else { return false }
        if doubted[message] == nil, doubted.count >= Self.messagesMax { doubted = [:] }
        return doubted.updateValue(pages, forKey: message) == nil
    }

    /// Whether the credential was accepted lately.
    func isFresh(at now: Duration) -> Bool { accepted.map { now - $0.at < Self.life } ?? false }

    /// Whether something was accepted since addresses of the message were doubted.
    func isOfAddresses(of message: MessageID?) -> Bool {
        guard let message, let page = doubted[message], let accepted else { return false }
        return accepted.page >= page
    }
}
