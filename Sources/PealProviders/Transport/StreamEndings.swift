import PealCore

/// How requests ended, gathered while one read is parsed and handed on in one go.
struct StreamEndings {
    /// Those answered 200 without a remark.
    var accepted: [StreamTicket] = []
    var others: [Ending] = []

    struct Ending: Hashable {
        let ticket: StreamTicket
        let kind: Kind
        /// Of a response; else 0.
        var streamID: UInt32 = 0
    }

    enum Kind: Hashable {
        case response(ProviderResponse)
        /// The peer proved that it did nothing with the request.
        case unprocessed
        /// Cut off, after the request was written.
        case lost(String)
    }

    var isEmpty: Bool { accepted.isEmpty && others.isEmpty }

    mutating func removeAll() {
        accepted.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
    }
}

/// An answer that is not a plain 200: another status, or a remark.
struct ProviderResponse: Hashable, Sendable {
    let status: Int
    /// At most `Limits.responseBodyBytesMax` of it.
    let body: [UInt8]
    let retryAfterSeconds: Int?
    /// Where Retry-After gave a date.
    let retryAt: Timestamp?
    /// Of a 403, which a wrong clock may bring about: what time it is for the peer (RFC 9110 §6.6.1), where it says so.
    let date: Timestamp?
    /// Of a 200: the field that `Exchange.remarkName` names, printable ASCII without blanks.
    let remark: String?
    /// Of the authorization that the request went out under; 0 = none.
    var authorizationVersion = 0

    init(
        status: Int, body: [UInt8] = [], retryAfterSeconds: Int? = nil, retryAt: Timestamp? = nil,
        date: Timestamp? = nil, remark: String? = nil
    ) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
        self.retryAt = retryAt
        self.date = date
        self.remark = remark
    }

    /// What Retry-After asks for (RFC 9110 §10.2.3), at most a day.
    /// - Parameter now: what a date is counted from.
    func retryAfter(now: Timestamp) -> Duration? {
        let longest = Duration.seconds(24 * 3600)
        if let retryAfterSeconds { return min(.seconds(retryAfterSeconds), longest) }
        guard let retryAt, retryAt > now else { return nil }
        return min(retryAt - now, longest)
    }
}
