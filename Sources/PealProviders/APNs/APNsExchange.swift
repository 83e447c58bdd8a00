import PealCore

/// What APNs connections of one credential add to each request, and how their answers are read.
struct APNsExchange: Exchange {
    let tokens: ProviderTokens

    var idName: String? { "apns-id" }
    /// Apple: one stream until a request with a valid provider token was answered.
    var provesFirst: Bool { true }
    func authorization() -> Authorization? { tokens.authorization }

    func answer(to response: ProviderResponse) -> Answer {
        let document = (try? JSONParser.parse(response.body)) ?? .null
        let reason = document["reason"]?.stringValue ?? ""
        let timestamp = document["timestamp"]?.integerValue.map { Timestamp(milliseconds: $0) }
        var verdict = APNsVerdicts.verdict(status: response.status, reason: reason, timestamp: timestamp)
        if verdict == .refreshCredential, !tokens.expired() { verdict = .stopApp }
        if reason == "TooManyProviderTokenUpdates" { tokens.updatedTooOften() }
        if verdict == .retry(after: nil), let seconds = response.retryAfterSeconds {
            verdict = .retry(after: .seconds(min(seconds, 24 * 3600)))
        }
        let word = reason.isEmpty ? "Status\(response.status)" : reason
        return Answer(.verdict(verdict), reason: String(word.prefix(64)), status: response.status)
    }
}
