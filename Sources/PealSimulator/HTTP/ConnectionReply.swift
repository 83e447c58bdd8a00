/// What a connection does about one request.
struct ConnectionReply: Sendable {
    /// How a request ends.
    enum Action: Sendable {
        case answer(HTTPAnswer)
        /// RST_STREAM with this HTTP/2 error code; closes the connection over HTTP/1.1.
        case reset(code: Int)
        /// RST_STREAM with REFUSED_STREAM; closes the connection over HTTP/1.1.
        case refuse
        /// GOAWAY with this request and later ones unprocessed; closes the connection over HTTP/1.1.
        case goAway(reason: String)
        case close
        case silence
    }

    var action: Action
    /// The number of concurrent streams to allow with SETTINGS before the answer.
    var streamLimit: Int?
    /// The same, after the answer.
    var laterStreamLimit: Int?
    var delayMilliseconds: Int64 = 0
    /// Whether to close the connection after the answer.
    var isLast = false

    init(_ action: Action, delayMilliseconds: Int64 = 0) {
        self.action = action
        self.delayMilliseconds = delayMilliseconds
    }

    init(_ answer: HTTPAnswer) {
        action = .answer(answer)
    }
}

/// A response over HTTP/1.1 or HTTP/2: a status, headers and a body.
struct HTTPAnswer: Sendable {
    var status: Int
    /// Names in lower case and values. `content-length` is added later.
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

    /// `{"error": message}`: an error of the control interface.
    static func failure(_ status: Int, _ message: String) -> HTTPAnswer {
        .json(status, JSONText.object([("error", JSONText.quoted(message))]))
    }

    /// 200, or 404 when what the request named was not there.
    static func found(_ isFound: Bool) -> HTTPAnswer { isFound ? .done : .failure(404, "not found") }

    /// `{"ok": true}`.
    static let done = HTTPAnswer.json(200, "{\"ok\":true}")

    /// Adds `others`, which replace headers of the same name.
    mutating func set(_ others: [(name: String, value: String)]) {
        headers.removeAll { header in others.contains { $0.name == header.name } }
        headers += others
    }
}

/// Tells a connection to send GOAWAY with `reason` and to close.
struct ShutdownEvent: Sendable {
    let reason: String
}
