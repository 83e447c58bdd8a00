/// Asks one token endpoint for access tokens under one credential.
protocol AccessTokenSource: Sendable {
    /// One request, without a second attempt. Bounded in time; ends early when the task is cancelled.
    func fetch() async -> AccessTokenReply
}
