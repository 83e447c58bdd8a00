/// What a connection is to do about one request.
struct ConnectionReply: Sendable {
    /// The end that a request comes to.
    enum Deed: Sendable {
        case answer(HTTPAnswer)
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

    init(_ answer: HTTPAnswer) {
        deed = .answer(answer)
    }
}

/// A status with headers and a body, as HTTP/1.1 and HTTP/2 alike carry it.
struct HTTPAnswer: Sendable {
    var status: Int
    /// Names in lower case and values; the length of the body is added on the way out.
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    init(_ status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer with a JSON body.
    static func json(_ status: Int, _ text: String, headers: [(name: String, value: String)] = []) -> HTTPAnswer {
        HTTPAnswer(status, headers: [("content-type", "application/json")] + headers, body: Array(text.utf8))
    }

    /// `{"error": message}` with `status`, as the control interface says it.
    static func failure(_ status: Int, _ message: String) -> HTTPAnswer {
        .json(status, JSONText.object([("error", JSONText.quoted(message))]))
    }

    /// 200, or 404 when what the request named was not there.
    static func found(_ isFound: Bool) -> HTTPAnswer { isFound ? .done : .failure(404, "not found") }

    /// `{"ok": true}`.
    static let done = HTTPAnswer.json(200, "{\"ok\":true}")

    /// Adds `others`, each in the place of a header of the same name.
    mutating func set(_ others: [(name: String, value: String)]) {
        headers.removeAll { header in others.contains { $0.name == header.name } }
        headers += others
    }
}

/// Asks a connection to say GOAWAY with `reason` and to close.
struct ShutdownEvent: Sendable {
    let reason: String
}
