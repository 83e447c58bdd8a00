/// A status with headers and a body, as HTTP/1.1 and HTTP/2 alike carry it.
struct Answer: Sendable {
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
    static func json(_ status: Int, _ text: String, headers: [(name: String, value: String)] = []) -> Answer {
        Answer(status, headers: [("content-type", "application/json")] + headers, body: Array(text.utf8))
    }

    /// `{"error": message}` with `status`, as the control interface says it.
    static func failure(_ status: Int, _ message: String) -> Answer {
        .json(status, JSONText.object([("error", JSONText.quoted(message))]))
    }

    /// `{"ok": true}`.
    static let done = Answer.json(200, "{\"ok\":true}")

    /// Adds `others`, each in the place of a header of the same name.
    mutating func set(_ others: [(name: String, value: String)]) {
        headers.removeAll { header in others.contains { $0.name == header.name } }
        headers += others
    }
}
