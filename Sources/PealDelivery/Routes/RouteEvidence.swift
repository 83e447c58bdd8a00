internal import PealCore

/// Decides whether suspicious answers are the fault of a route's credential or of the addresses: receives the pages of
/// a route in the order in which they are judged. If enough was accepted under the same credential after addresses were
/// reported as dead, the addresses are at fault.
struct RouteEvidence: Sendable {
    /// For how long an acceptance shows that the credential works.
    private static let life: Duration = .seconds(24 * 3600)
    /// About as long as doubted devices wait.
    private static let round: Duration = .seconds(600)
    private static let messagesMax = 64

    private struct Doubt {
        /// How many devices were doubted.
        var devices = 0
        /// The route's acceptances up to the first doubt of the round, and when it began. Pages that are in flight
        /// together are judged in any order, so later doubts of a round do not start the count again.
        var acceptances = 0
        var begunAt: Duration
    }

    private var version = 0
    private var acceptances = 0
    private var acceptedAt: Duration?
    private var doubted: [MessageID: Doubt] = [:]

    /// Records the next page.
    mutating func take(_ page: RouteBreaker.Tally, version: Int, now: Duration) {
        if version != self.version {
            self = RouteEvidence()
            self.version = version
        }
        guard page.proofs > 0 else { return }
        acceptances += page.proofs
        acceptedAt = now
    }

    /// Records that addresses of the message in the last page are doubted.
    /// - Parameter isRepeated: Whether they were doubted before.
    /// - Returns: whether they are the first ones of the message.
    mutating func doubt(_ message: MessageID?, devices: Int, isRepeated: Bool, now: Duration) -> Bool {
        guard let message else { return false }
        guard var doubt = doubted[message] else {
            if doubted.count >= Self.messagesMax { doubted = [:] }
            doubted[message] = Doubt(devices: devices, acceptances: acceptances, begunAt: now)
            return true
        }
        if isRepeated || now - doubt.begunAt >= Self.round { (doubt.acceptances, doubt.begunAt) = (acceptances, now) }
        if !isRepeated { doubt.devices += devices }
        doubted[message] = doubt
        return false
    }

    /// Whether the credential was accepted recently.
    /// - Parameter version: `AccessCache.version` of the credential.
    func isFresh(version: Int, at now: Duration) -> Bool {
        version == self.version && (acceptedAt.map { now - $0 < Self.life } ?? false)
    }

    /// Whether enough was accepted since addresses of the message were doubted. A few acceptances prove nothing about
    /// thousands of addresses: the credential may fit those few devices only.
    /// - Parameter page: the last page, which does not count.
    func isOfAddresses(of message: MessageID?, besides page: RouteBreaker.Tally) -> Bool {
        guard let message, let doubt = doubted[message] else { return false }
        let since = acceptances - page.proofs - doubt.acceptances
        return Double(since) >= max(1, Limits.breakerSuspiciousShare * Double(doubt.devices))
    }
}
