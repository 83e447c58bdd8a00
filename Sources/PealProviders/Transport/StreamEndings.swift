import PealCore

/// How requests ended, collected while one read is parsed and handed on together.
struct StreamEndings {
    /// Requests answered with 200 and no remark.
    var accepted: [StreamTicket] = []
    var others: [Ending] = []

    /// The end of a request that is not a plain acceptance.
    struct Ending: Hashable {
        let ticket: StreamTicket
        let kind: Kind
        /// The stream of a response; otherwise 0.
        var streamID: UInt32 = 0
    }

    enum Kind: Hashable {
        case response(ProviderResponse)
        /// The peer proved that it did not process the request.
        case unprocessed
        /// Cut off after the request was written.
        case lost(String)
    }

    var isEmpty: Bool { accepted.isEmpty && others.isEmpty }

    mutating func removeAll() {
        accepted.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
    }
}

/// A response that is not a plain 200: it has another status or a remark.
struct ProviderResponse: Hashable, Sendable {
    let status: Int
    /// At most `Limits.responseBodyBytesMax` bytes; the rest is dropped.
    let body: [UInt8]
    let retryAfterSeconds: Int?
    /// Set if Retry-After is a date.
    let retryAt: Timestamp?
    /// The peer's time (RFC 9110 §6.6.1) in a 403, which a wrong local clock can cause; nil if the peer sent none.
    let date: Timestamp?
    /// If the status is 200: the value of `Exchange.remarkName`, printable ASCII without spaces.
    let remark: String?
    /// The version of the request's authorization; 0 if it had none.
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

    /// The wait that Retry-After asks for (RFC 9110 §10.2.3), at most one day.
    /// - Parameter now: the time to count a date from.
    func retryAfter(now: Timestamp) -> Duration? {
        let longest = Duration.seconds(24 * 3600)
        if let retryAfterSeconds { return min(.seconds(retryAfterSeconds), longest) }
        guard let retryAt, retryAt > now else { return nil }
        return min(retryAt - now, longest)
    }
}
