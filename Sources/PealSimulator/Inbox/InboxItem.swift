/// One notification that a device was given.
struct InboxItem: Sendable {
    /// Grows by one with every item; `after` of `GET /inbox` names it.
    var sequence: Int = 0
    /// When it came, in milliseconds since 1970.
    let at: Int64
    var provider = PushProvider.apns
    var environment = PushEnvironment.production
    /// The device token in lower case, the registration token, channel URI or endpoint; of a broadcast the channel's
    /// id.
    let device: String
    /// The notification's id, as the answer told it: `apns-id`, FCM's name, the message id of WNS and MPNS, the
    /// location of Web Push.
    let id: String
    /// The request's headers as a JSON object, without the provider token.
    let headersJSON: String
    /// JSON text; of the fast mode perhaps anything.
    let payload: [UInt8]
    /// Whether it went to a broadcast channel.
    var isBroadcast = false

    /// What the item weighs against `SimulatorLimits.inboxBytesMax`.
    var bytes: Int { device.utf8.count + headersJSON.utf8.count + payload.count + 160 }

    /// The item as `GET /inbox` gives it.
    var json: String {
        var members = [
            ("seq", String(sequence)), ("at", String(at)), ("provider", JSONText.quoted(provider.rawValue)),
            ("environment", JSONText.quoted(environment.rawValue)), ("device", JSONText.quoted(device)),
            ("id", JSONText.quoted(id)),
        ]
        if provider == .apns { members.append(("apns_id", JSONText.quoted(id))) }
        if isBroadcast { members.append(("channel", "true")) }
        members += [("headers", headersJSON), ("payload", String(decoding: payload, as: UTF8.self))]
        return JSONText.object(members)
    }

    /// `headers` as a JSON object; tokens are left out, since they are secrets.
    static func headersJSON(_ headers: [(name: String, value: String)]) -> String {
        JSONText.object(
            headers.filter { $0.name != "authorization" }.map { ($0.name, JSONText.quoted($0.value)) })
    }
}
