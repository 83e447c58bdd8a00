/// What a connection is to do about one request.
struct APNsReply: Sendable {
    let action: FaultAction
    let apnsID: String
    /// The `apns-unique-id` that only the sandbox gives.
    let uniqueID: String?
    let delayMilliseconds: Int64

    /// Status and body of the answer: nil when the action answers nothing.
    var answer: (status: Int, body: String)? {
        switch action {
        case .pass, .streamLimit: (200, "")
        case .answer(200, _, _): (200, "")
        case .answer(let status, let reason, let timestamp): (status, Self.body(reason, timestamp))
        case .reset, .refuse, .goAway, .close, .silence: nil
        }
    }

    /// `{"reason": …, "timestamp": …}`, the timestamp in milliseconds.
    static func body(_ reason: String, _ timestamp: Int64? = nil) -> String {
        JSONText.object(
            [("reason", JSONText.quoted(reason))] + (timestamp.map { [("timestamp", String($0))] } ?? []))
    }
}
