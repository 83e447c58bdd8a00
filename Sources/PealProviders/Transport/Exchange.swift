import PealCore

/// What a provider adds to a connection: who we are, and what its answers mean. Called from event loops.
protocol Exchange: Sendable {
    /// The field that carries each request's id; nil = none.
    var idName: String? { get }
    /// The field of an acceptance that small messages keep as a remark. nil = acceptances are not read, which is the
    /// fast way.
    var remarkName: String? { get }
    /// Whether a connection may open one stream only until its first request was accepted.
    var provesFirst: Bool { get }
    /// Whether the authorization is worth a place in the peer's header table: it is long and lives for an hour.
    /// Guessing it through the table (RFC 7541 §7.1.3) takes an attacker who writes other headers into the same
    /// connection.
    var indexesAuthorization: Bool { get }
    /// The authorization of requests that begin now; nil = none is sent, unless there is an `obstacle`.
    func authorization() -> Authorization?
    /// What to answer to requests that cannot begin because there is no authorization; nil = they begin without.
    func obstacle() -> Answer?
    /// Judges an answer that is not a plain 200.
    func answer(to response: ProviderResponse) -> Answer
    /// Whether the answer says that our own request was malformed: people must hear of it.
    func isOurFault(_ response: ProviderResponse) -> Bool
    /// What it means for everything that waits when a connection is ended with that word before it answered anything;
    /// nil = nothing: another connection is tried.
    func answer(toGoAway reason: String) -> Answer?
}

extension Exchange {
    var remarkName: String? { nil }
    func isOurFault(_ response: ProviderResponse) -> Bool { false }
    func answer(toGoAway reason: String) -> Answer? { nil }
}

extension Exchange {
    var indexesAuthorization: Bool { false }
    func obstacle() -> Answer? { nil }
}

/// The value of the `authorization` field, for many requests.
struct Authorization: Hashable, Sendable {
    let value: [UInt8]
    /// Another number for another value; never 0.
    let version: Int
}

/// Which authorization the requests of a connection went out under, so that the refusal of an old one is not taken for
/// that of the present one.
struct AuthorizationMarks {
    private var marks: [(from: UInt32, version: Int)] = []
    private var version = 0
    /// Authorizations live far longer than requests.
    private static let countMax = 4

    /// - Parameter streamID: of the next request.
    mutating func note(_ authorization: Authorization?, from streamID: UInt32) {
        let version = authorization?.version ?? 0
        guard version != self.version else { return }
        self.version = version
        if marks.count == Self.countMax { marks.removeFirst() }
        marks.append((streamID, version))
    }

    /// 0 = none, or forgotten.
    func version(of streamID: UInt32) -> Int { marks.last { $0.from <= streamID }?.version ?? 0 }
}
