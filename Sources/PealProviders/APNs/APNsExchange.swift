import PealCore

/// What a credential's APNs connections add to each request, and how their responses are judged.
struct APNsExchange: Exchange {
    /// nil if the connection itself presents a certificate.
    let tokens: ProviderTokens?
    let time: any TimeSource
    var environment = Environment.production
    /// Whether the addresses are broadcast channels.
    var isBroadcast = false

    /// Broadcasts have their own field ("Sending broadcast push notification requests to APNs").
    var idName: String? { isBroadcast ? "apns-request-id" : "apns-id" }

    /// The notification's key in Apple's Push Notifications Console. The sandbox returns it for every notification,
    /// production for broadcasts only.
    var remarkName: String? { isBroadcast || environment == .sandbox ? Self.uniqueIDName : nil }
    private static let uniqueIDName = "apns-unique-id"

    /// Apple allows one stream until a request with a valid provider token is answered; TLS checks certificates
    /// earlier.
    var provesFirst: Bool { tokens != nil }
    func authorization() -> Authorization? { tokens?.authorization }

    func answer(to response: ProviderResponse) -> ProviderAnswer {
        if response.status == 200 {
            let remark = response.remark.map { "\(Self.uniqueIDName) \($0)" }
            return ProviderAnswer(.verdict(.accepted), reason: remark ?? "", status: 200)
        }
        let document = (try? JSONParser.parse(response.body)) ?? .null
        let reason = Self.reason(in: document)
        let timestamp = document["timestamp"]?.integerValue.flatMap(Self.instant)
        var verdict = known(
            APNsVerdicts.verdict(
                status: response.status, reason: reason, timestamp: timestamp, isBroadcast: isBroadcast))
        if reason == "TooManyProviderTokenUpdates" { tokens?.updatedTooOften() }
        if verdict == .retry(after: nil) { verdict = .retry(after: response.retryAfter?.wait(now: time.now)) }
        let word = reason.isEmpty ? "Status\(response.status)" : reason
        let isClock = verdict == .stopApp && blamesClock(reason, response.date)
        return ProviderAnswer(.verdict(verdict), reason: isClock ? "\(word) ClockSkew" : word, status: response.status)
    }

    /// Whether the response's `date` shows that APNs refused a provider token because the local clock is wrong.
    private func blamesClock(_ reason: String, _ date: Timestamp?) -> Bool {
        guard let tokens, let date, ["ExpiredProviderToken", "InvalidProviderToken"].contains(reason) else {
            return false
        }
        return tokens.isClock(beside: date)
    }

    /// Includes `DeviceTokenNotForTopic`: if the message chose its own topic, that answer says nothing about the
    /// address.
    func refusesTopic(_ answer: ProviderAnswer) -> Bool {
        switch answer.result {
        case .verdict(.stopApp): APNsVerdicts.topicReasons.contains(answer.reason)
        case .verdict(.retireAddress): answer.reason == "DeviceTokenNotForTopic"
        default: false
        }
    }

    /// `BadPath`, `MethodNotAllowed`, and a 403 that refuses one message: none depends on the author's content.
    func needsAlert(_ answer: ProviderAnswer) -> Bool {
        switch answer.status {
        case 404, 405: true
        case 403: answer.result == .verdict(.rejectMessage)
        default: false
        }
    }

    func answer(toGoAway reason: String) -> ProviderAnswer? {
        APNsVerdicts.verdict(goAway: reason).map { ProviderAnswer(.verdict(known($0)), reason: reason) }
    }

    /// Another provider token can only help if the last one was old. Otherwise, a clock or the key is wrong.
    private func known(_ verdict: Verdict) -> Verdict {
        guard verdict == .refreshCredential else { return verdict }
        return tokens?.expired() == true ? verdict : .stopApp
    }

    /// Apple's reason; empty if there is none that can be shown. `Service Unavailable` has a space, which is removed.
    static func reason(in document: JSON) -> String {
        document["reason"]?.stringValue?.filter { $0 != " " }.asReason() ?? ""
    }

    /// Milliseconds, within the years that RFC 3339 can represent.
    private static func instant(_ milliseconds: Int64) -> Timestamp? {
        (0...253_402_300_799_999).contains(milliseconds) ? Timestamp(milliseconds: milliseconds) : nil
    }
}
