import PealCore

/// What a provider adds to a connection: who we are, and what its answers mean. Called from event loops.
protocol Exchange: Sendable {
    /// The field that carries each request's id; nil = none.
    var idName: String? { get }
    /// The field of an acceptance that small messages keep as a remark. nil = acceptances are not read, which is the
    /// fast way.
    var remarkName: String? { get }
    /// Whether a connection must hold back until its first request was let in.
    var provesFirst: Bool { get }
    /// Whether the authorization is worth a place in the peer's header table: it is long and lives for an hour.
    /// Guessing it through the table (RFC 7541 §7.1.3) takes somebody who writes other headers into the same
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
