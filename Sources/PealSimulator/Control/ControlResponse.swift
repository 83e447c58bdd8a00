/// What the control interface answers: a status and a JSON text.
struct ControlResponse {
    var status: Int
    var json: String

    init(status: Int = 200, json: String) {
        self.status = status
        self.json = json
    }

    /// `{"error": message}` with `status`.
    static func failure(_ status: Int, _ message: String) -> ControlResponse {
        ControlResponse(status: status, json: JSONText.object([("error", JSONText.quoted(message))]))
    }

    /// `{"ok": true}`.
    static let done = ControlResponse(json: "{\"ok\":true}")
}
