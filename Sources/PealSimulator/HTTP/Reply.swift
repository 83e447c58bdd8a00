/// What a connection is to do about one request.
struct Reply: Sendable {
    /// The end that a request comes to.
    enum Deed: Sendable {
        case answer(Answer)
        /// RST_STREAM with this HTTP/2 error code; over HTTP/1.1 the end of the connection.
        case reset(code: Int)
        /// RST_STREAM with REFUSED_STREAM; over HTTP/1.1 the end of the connection.
        case refuse
        /// GOAWAY with this request and later ones unprocessed; over HTTP/1.1 the end of the connection.
        case goAway(reason: String)
        case close
        case silence
    }

    var deed: Deed
    /// SETTINGS with so many concurrent streams, before the answer.
    var streamLimit: Int?
    /// The same, after the answer.
    var laterStreamLimit: Int?
    var delayMilliseconds: Int64 = 0
    /// Whether the connection ends after the answer.
    var isLast = false

    init(_ deed: Deed, delayMilliseconds: Int64 = 0) {
        self.deed = deed
        self.delayMilliseconds = delayMilliseconds
    }

    init(_ answer: Answer) {
        deed = .answer(answer)
    }
}
