import NIOHTTP1
import PealCore

/// A request that is not part of the fan-out over HTTP/2: for an access token, to a channel URI, to a push service.
struct OutboundRequest: Sendable {
    var method: HTTPMethod = .POST
    var url: String
    var headers: HTTPHeaders = [:]
    /// Sent with its Content-Length; empty = none.
    var body: [UInt8] = []
    /// Of the authorization among the headers (`Authorization.version`); 0 = none.
    var authorizationVersion = 0
    var timeout: Duration = .seconds(Limits.requestTimeoutSeconds)
    /// The one address of the URL's host that was checked and may be connected to; nil = whatever the name resolves to.
    var address: IPAddress?
    /// What is longer is cut off.
    var replyBytesMax = Limits.outboundReplyBytesMax
}

/// What came back to one.
struct OutboundReply: Sendable, Equatable {
    var status: Int
    var headers: HTTPHeaders
    /// At most `OutboundRequest.replyBytesMax`.
    var body: [UInt8]

    /// The value of Retry-After in seconds (RFC 9110 §10.2.3), at most a day.
    /// - Parameter now: what a date is counted from.
    func retryAfter(now: Timestamp) -> Duration? {
        guard let text = headers.first(name: "retry-after") else { return nil }
        if let seconds = Int64(text), seconds >= 0 { return .seconds(min(seconds, 24 * 3600)) }
        guard let date = HTTPDate.timestamp(text), date > now else { return nil }
        return min(date - now, .seconds(24 * 3600))
    }
}

/// Why there was no reply.
enum OutboundFailure: Error, Sendable, Hashable {
    /// Nothing of the request can have reached the peer: no address, no connection, no TLS.
    case unsent(String)
    /// It may have.
    case lost(String)
    /// It is malformed and can never be sent.
    case unusable(String)
    /// No connection to a host that is not listed: it may well be gone, and says nothing about the network.
    case unreachable(String)

    var answer: Answer {
        switch self {
        case .unsent(let reason): .unsent(reason)
        case .lost(let reason): .lost(reason)
        case .unusable(let reason): Answer(.verdict(.rejectMessage), reason: reason)
        case .unreachable(let reason): Answer(.verdict(.holdAddress(after: .zero)), reason: reason)
        }
    }

    /// Whether no connection to the peer came about.
    var isUnreachable: Bool {
        switch self {
        case .unsent, .unreachable: true
        case .lost, .unusable: false
        }
    }
}

/// Sends single requests and knows when none is left: one client, or several behind one door.
protocol OutboundSender: Sendable {
    /// - Throws: `OutboundFailure`: there was no answer.
    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundReply

    /// Ends every connection.
    func close() async
}

/// Dates as HTTP writes them.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7, the preferred form); nil for anything else.
    static func timestamp(_ text: String) -> Timestamp? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let number = month + 1
        return Timestamp(rfc3339: "\(parts[3])-\(number < 10 ? "0" : "")\(number)-\(parts[1])T\(parts[4])Z")
    }
}
