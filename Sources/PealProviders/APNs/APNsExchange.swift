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
        let reason = document["reason"]?.stringValue.flatMap(Self.word) ?? ""
        let timestamp = document["timestamp"]?.integerValue.flatMap(Self.instant)
        var verdict = APNsVerdicts.verdict(status: response.status, reason: reason, timestamp: timestamp)
        if verdict == .refreshCredential, !tokens.expired() { verdict = .stopApp }
        if reason == "TooManyProviderTokenUpdates" { tokens.updatedTooOften() }
        if verdict == .retry(after: nil), let seconds = response.retryAfterSeconds {
            verdict = .retry(after: .seconds(min(seconds, 24 * 3600)))
        }
        return Answer(
            .verdict(verdict), reason: reason.isEmpty ? "Status\(response.status)" : reason, status: response.status)
    }

    /// Apple's reasons are words of letters and digits. What is none would end up in logs and lists, and counts as
    /// absent.
    private static func word(_ reason: String) -> String? {
        reason.utf8.allSatisfy(\.isASCIIAlphanumeric) && reason.utf8.count <= 64 ? reason : nil
    }

    /// Milliseconds, within the years that RFC 3339 can write.
    private static func instant(_ milliseconds: Int64) -> Timestamp? {
        (0...253_402_300_799_999).contains(milliseconds) ? Timestamp(milliseconds: milliseconds) : nil
    }
}
