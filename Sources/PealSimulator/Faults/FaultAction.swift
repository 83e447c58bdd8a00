/// What a fault does in place of the network's own answer.
enum FaultAction: Sendable, Equatable {
    /// The answer goes out as usual (after the fault's delay).
    case pass
    /// A status with a reason; `timestamp` in milliseconds goes with 410.
    case answer(status: Int, reason: String, timestamp: Int64?)
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

    /// How the summary calls a request without an answer; nil for those with one.
    var disturbance: String? {
        switch self {
        case .pass, .answer, .streamLimit: nil
        case .reset: "reset"
        case .refuse: "refused_stream"
        case .goAway: "goaway"
        case .close: "closed"
        case .silence: "silence"
        }
    }
}
