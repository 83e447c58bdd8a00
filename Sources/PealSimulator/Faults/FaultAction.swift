/// What a fault does in place of the network's own answer.
enum FaultAction: Sendable, Equatable {
    /// The answer goes out as usual (after the fault's delay).
    case pass
    /// Another answer.
    case answer(FaultAnswer)
    /// RST_STREAM with this HTTP/2 error code.
    case reset(code: Int)
    /// RST_STREAM with REFUSED_STREAM: provably unprocessed.
    case refuse
    /// GOAWAY with a reason, this request and later ones unprocessed, and the end of the connection.
    case goAway(reason: String)
    /// The connection ends at once.
    case close
    /// SETTINGS with this many concurrent streams; the answer goes out as usual.
    case streamLimit(Int)
    /// Nothing: the stream stays open.
    case silence
    /// The provider token or access token of the request has expired from now on.
    case expireToken
    /// The simulator's clock is so many seconds ahead from now on; the answer goes out as usual.
    case clockSkew(seconds: Int64)

    /// How the summary calls a request without an answer; nil for those with one.
    var disturbance: String? {
        switch self {
        case .pass, .answer, .streamLimit, .expireToken, .clockSkew: nil
        case .reset: "reset"
        case .refuse: "refused_stream"
        case .goAway: "goaway"
        case .close: "closed"
        case .silence: "silence"
        }
    }
}
