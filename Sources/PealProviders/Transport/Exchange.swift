import PealCore

/// What a provider adds to a connection: its authorization and the meaning of its answers. Called from event loops.
protocol Exchange: Sendable {
    /// The header field that carries each request's id; nil for none.
    var idName: String? { get }
    /// The header field of an acceptance that small messages keep as a remark; nil if acceptances are not read, which
    /// is faster.
    var remarkName: String? { get }
    /// Whether a connection may open only one stream until its first request is accepted.
    var provesFirst: Bool { get }
    /// Whether the authorization goes into the peer's header table. That pays for a long value that lives for an hour.
    /// Guessing it through the table (RFC 7541 §7.1.3) takes an attacker who can write other headers on the same
    /// connection.
    var indexesAuthorization: Bool { get }
    /// The authorization of requests that begin now; nil if none is sent or there is an `obstacle`.
    func authorization() -> Authorization?
    /// The answer to requests that cannot begin for lack of an authorization; nil if they begin without one.
    func obstacle() -> ProviderAnswer?
    /// Judges a response that is not a plain 200.
    func answer(to response: ProviderResponse) -> ProviderAnswer
    /// Whether the answer refuses the topic of the notification. If its author chose the topic, the message is rejected
    /// and the app is not stopped.
    func refusesTopic(_ answer: ProviderAnswer) -> Bool
    /// Whether the answer ends a message for a reason that only Peal's operator can remove. The connection then logs an
    /// error.
    func needsAlert(_ answer: ProviderAnswer) -> Bool
    /// The answer to every queued request when a GOAWAY with this reason ends a connection before its first answer; nil
    /// if the pool tries another connection.
    func answer(toGoAway reason: String) -> ProviderAnswer?
}

extension Exchange {
    var remarkName: String? { nil }
    var indexesAuthorization: Bool { false }
    func obstacle() -> ProviderAnswer? { nil }
    func refusesTopic(_ answer: ProviderAnswer) -> Bool { false }
    func needsAlert(_ answer: ProviderAnswer) -> Bool { false }
    func answer(toGoAway reason: String) -> ProviderAnswer? { nil }
}

/// The value of the `authorization` header field, shared by many requests.
struct Authorization: Hashable, Sendable {
    let value: [UInt8]
    /// Changes with the value; never 0.
    let version: Int
}

/// The authorization version of each request on a connection. It keeps Peal from taking the refusal of an old
/// authorization for a refusal of the current one.
struct AuthorizationMarks {
    private var marks: [(from: UInt32, version: Int)] = []
    private var version = 0
    /// Enough, because an authorization lives far longer than a request.
    private static let countMax = 4

    /// - Parameter streamID: the id of the next request's stream.
    mutating func note(_ authorization: Authorization?, from streamID: UInt32) {
        let version = authorization?.version ?? 0
        guard version != self.version else { return }
        self.version = version
        if marks.count == Self.countMax { marks.removeFirst() }
        marks.append((streamID, version))
    }

    /// The authorization version of a stream; 0 if it had none or the version is no longer kept.
    func version(of streamID: UInt32) -> Int { marks.last { $0.from <= streamID }?.version ?? 0 }
}
