import PealCore

/// What APNs connections of one credential add to each request, and how their answers are read.
struct APNsExchange: Exchange {
    /// nil where the connection itself shows a certificate.
    let tokens: ProviderTokens?
    var environment = Environment.production
    /// Whether the addresses are broadcast channels.
    var isBroadcast = false

    /// Broadcasts have their own name for it ("Sending broadcast push notification requests to APNs").
    var idName: String? { isBroadcast ? "apns-request-id" : "apns-id" }

    /// The key to Apple's Push Notifications Console: the sandbox gives it for every notification, production for
    /// broadcasts alone.
    var remarkName: String? { isBroadcast || environment == .sandbox ? Self.uniqueIDName : nil }
    private static let uniqueIDName = "apns-unique-id"

    /// Apple: one stream until a request with a valid provider token was answered; certificates are checked before.
    var provesFirst: Bool { tokens != nil }
    func authorization() -> Authorization? { tokens?.authorization }

    func answer(to response: ProviderResponse) -> Answer {
        if response.status == 200 {
            let remark = response.remark.map { "\(Self.uniqueIDName) \($0)" }
            return Answer(.verdict(.accepted), reason: remark ?? "", status: 200)
        }
        let document = (try? JSONParser.parse(response.body)) ?? .null
        let reason = document["reason"]?.stringValue.flatMap(Self.word) ?? ""
        let timestamp = document["timestamp"]?.integerValue.flatMap(Self.instant)
        var verdict = known(
            APNsVerdicts.verdict(
                status: response.status, reason: reason, timestamp: timestamp, isBroadcast: isBroadcast))
        if reason == "TooManyProviderTokenUpdates" { tokens?.updatedTooOften() }
        if verdict == .retry(after: nil), let seconds = response.retryAfterSeconds {
            verdict = .retry(after: .seconds(min(seconds, 24 * 3600)))
        }
        let word = reason.isEmpty ? "Status\(response.status)" : reason
        let isClock = verdict == .stopApp && blamesClock(reason, response.date)
        return Answer(.verdict(verdict), reason: isClock ? "\(word) ClockSkew" : word, status: response.status)
    }

    /// Whether a provider token is refused that a wrong clock has made, by the `date` of the answer.
    private func blamesClock(_ reason: String, _ date: Timestamp?) -> Bool {
        guard let tokens, let date, ["ExpiredProviderToken", "InvalidProviderToken"].contains(reason) else {
            return false
        }
        return tokens.isClock(beside: date)
    }

    /// `BadPath` and `MethodNotAllowed`: neither depends on what an author wrote.
    func isOurFault(_ response: ProviderResponse) -> Bool { response.status == 404 || response.status == 405 }

    func answer(toGoAway reason: String) -> Answer? {
        APNsVerdicts.verdict(goAway: reason).map { Answer(.verdict(known($0)), reason: reason) }
    }

    /// Another provider token is worth a try only when the last one was old; else a clock or the key is wrong.
    private func known(_ verdict: Verdict) -> Verdict {
        guard verdict == .refreshCredential else { return verdict }
        return tokens?.expired() == true ? verdict : .stopApp
    }

    /// Apple's reasons are words of letters and digits; `Service Unavailable` is one with a blank. What is none would
    /// end up in logs and lists, and counts as absent.
    static func word(_ reason: String) -> String? {
        let word = reason.filter { $0 != " " }
        return word.utf8.allSatisfy(\.isASCIIAlphanumeric) && word.utf8.count <= 64 ? word : nil
    }

    /// Milliseconds, within the years that RFC 3339 can write.
    private static func instant(_ milliseconds: Int64) -> Timestamp? {
        (0...253_402_300_799_999).contains(milliseconds) ? Timestamp(milliseconds: milliseconds) : nil
    }
}
