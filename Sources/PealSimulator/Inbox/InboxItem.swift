/// One notification that a device was given.
struct InboxItem: Sendable {
    /// Grows by one with every item; `after` of `GET /inbox` names it.
    var sequence: Int = 0
    /// When it came, in milliseconds since 1970.
    let at: Int64
    let environment: PushEnvironment
    /// The device token in lower case.
    let device: String
    let apnsID: String
    /// The request's headers as a JSON object, without the provider token.
    let headersJSON: String
    let payload: [UInt8]

    /// What the item weighs against `SimulatorLimits.inboxBytesMax`.
    var bytes: Int { device.utf8.count + headersJSON.utf8.count + payload.count + 160 }

    /// The item as `GET /inbox` gives it. A payload that is no JSON comes as a string.
    func json(isPayloadJSON: Bool) -> String {
        let text = String(decoding: payload, as: UTF8.self)
        return JSONText.object([
            ("seq", String(sequence)), ("at", String(at)), ("provider", "\"apns\""),
            ("environment", JSONText.quoted(environment.rawValue)), ("device", JSONText.quoted(device)),
            ("apns_id", JSONText.quoted(apnsID)), ("headers", headersJSON),
            ("payload", isPayloadJSON ? text : JSONText.quoted(text)),
        ])
    }

    /// `headers` as a JSON object; the provider token is left out, since it is a secret.
    static func headersJSON(_ headers: [(name: String, value: String)]) -> String {
        JSONText.object(
            headers.filter { $0.name != "authorization" }.map { ($0.name, JSONText.quoted($0.value)) })
    }
}
