import NIOHTTP1
import PealCore

/// A single request outside the HTTP/2 fan-out: for an access token, to a channel URI or to a push service.
struct OutboundRequest: Sendable {
    var method: HTTPMethod = .POST
    var url: String
    var headers: HTTPHeaders = [:]
    /// Sent with its Content-Length; empty for no body.
    var body: [UInt8] = []
    /// The `Authorization.version` of the request's authorization; 0 for none.
    var authorizationVersion = 0
    /// For the whole reply. A body that is not complete by then is cut off, but not within 500 ms of its head.
    var timeout: Duration = .seconds(Limits.requestTimeoutSeconds)
    /// By `TimeSource.uptime`: over HTTP/1.1 nothing of the request is written later; nil for no such limit.
    var deadline: Duration?
    /// The header with the remaining lifetime in seconds, which becomes shorter until the request is written over
    /// HTTP/1.1; nil for none.
    var lifeField: String?
    /// The only address of the URL's host that may be connected to, already checked; nil if the name is resolved as
    /// usual.
    var address: IPAddress?
    /// The maximum size of the reply's body in bytes; what exceeds it is dropped.
    var replyBytesMax = Limits.outboundReplyBytesMax
}

/// The reply to an `OutboundRequest`.
struct OutboundReply: Sendable, Equatable {
    var status: Int
    var headers: HTTPHeaders
    /// The body, at most `OutboundRequest.replyBytesMax` bytes; the rest is dropped.
    var body: [UInt8]

    /// The wait that Retry-After asks for (RFC 9110 §10.2.3), at most `Limits.providerWaitSecondsMax`.
    /// - Parameter now: the time to count a date from.
    func retryAfter(now: Timestamp) -> Duration? {
        headers.first(name: "retry-after").flatMap(RetryAfter.init)?.wait(now: now)
    }
}

/// Why there was no reply.
enum OutboundFailure: Error, Sendable, Hashable {
    /// Nothing of the request can have reached the peer: no address, no connection or no TLS.
    case unsent(String)
    /// Nothing of the request was written, because its deadline passed while it waited for a connection.
    case late
    /// The request may have reached the peer.
    case lost(String)
    /// The request is malformed and can never be sent.
    case unusable(String)
    /// No connection to an unlisted host. The host may be gone; this does not reflect on the network.
    case unreachable(String)

    var answer: ProviderAnswer {
        switch self {
        case .unsent(let reason): .unsent(reason)
        case .late: .unsent("Deadline")
        case .lost(let reason): .lost(reason)
        case .unusable(let reason): ProviderAnswer(.verdict(.rejectMessage), reason: reason)
        case .unreachable(let reason): ProviderAnswer(.verdict(.holdAddress(after: .zero)), reason: reason)
        }
    }

    /// Whether no connection to the peer was established.
    var isUnreachable: Bool {
        switch self {
        case .unsent, .unreachable: true
        case .late, .lost, .unusable: false
        }
    }

    /// Whether nothing of the request was written.
    var isUnwritten: Bool {
        switch self {
        case .unsent, .late, .unusable, .unreachable: true
        case .lost: false
        }
    }
}

/// Sends single requests and returns their replies, over one client or several.
protocol OutboundSender: Sendable {
    /// - Throws: `OutboundFailure` if there was no reply.
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply

    /// Closes every connection.
    func close() async
}
