import PealCore

/// What FCM connections of one credential add to each request, and how their answers are read.
struct FCMExchange: Exchange {
    let tokens: AccessTokens
    let time: any TimeSource

    var idName: String? { nil }
    var provesFirst: Bool { false }
    /// Google's access tokens have about a thousand characters.
    var indexesAuthorization: Bool { true }
    func authorization() -> Authorization? { tokens.authorization }
    func obstacle() -> Answer? { tokens.obstacle }

    func answer(to response: ProviderResponse) -> Answer {
        let error = FCMError(response.body)
        var verdict = FCMVerdicts.verdict(
            status: response.status, error: error,
            retryAfter: response.retryAfter(now: time.now) ?? error.retryDelay)
        if verdict == .refreshCredential { verdict = tokens.refused(version: response.authorizationVersion) }
        if verdict == .accepted { return Answer(.verdict(.accepted), reason: "", status: response.status) }
        return Answer(
            .verdict(verdict), reason: FCMVerdicts.reason(status: response.status, error: error),
            status: response.status)
    }
}
