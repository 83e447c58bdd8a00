/// How requests ended, gathered while one read is parsed and handed on in one go.
struct StreamEndings {
    /// Those answered 200 without a remark.
    var accepted: [StreamTicket] = []
    var others: [Ending] = []

    struct Ending: Hashable {
        let ticket: StreamTicket
        let kind: Kind
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
    /// Of a 200: the field that `Exchange.remarkName` names, printable ASCII without blanks.
    let remark: String?

    init(status: Int, body: [UInt8] = [], retryAfterSeconds: Int? = nil, remark: String? = nil) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
        self.remark = remark
    }
}
