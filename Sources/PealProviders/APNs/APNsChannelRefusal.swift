import PealCore

/// A channel request that APNs did not fulfil ("Handling error responses from Apple Push Notification service").
struct APNsChannelRefusal {
    let status: Int
    /// Apple's word; empty without one.
    let reason: String
    private let retryAfterSeconds: Int?

    /// nil when it was fulfilled.
    init?(_ reply: OutboundReply, now: Timestamp) {
        guard !(200..<300).contains(reply.status) else { return nil }
        status = reply.status
        let document = (try? JSONParser.parse(reply.body)) ?? .null
        reason = document["reason"]?.stringValue.flatMap(APNsExchange.word) ?? ""
        retryAfterSeconds = reply.retryAfter(now: now).map { Int($0.components.seconds) }
    }

    /// - Parameter isOfChannel: whether the request named a channel.
    func error(isOfChannel: Bool) -> PealError {
        let told = reason.isEmpty ? "APNs answered \(status)" : "APNs answered \(status) \(reason)"
        switch (status, reason) {
        case (400, "ChannelNotRegistered"): return PealError(.notFound, "channel not found: \(told)")
        // What APNs says of a channel that was deleted: the path itself is always the same.
        case (404, _) where isOfChannel: return PealError(.notFound, "channel not found: \(told)")
        case (400, "BadChannelId"), (400, "MissingChannelId"): return .invalid("id", told)
        case (400, "CannotCreateChannelConfig"):
            return PealError(.conflict, "the app has as many channels as APNs allows: \(told)")
        case (400, "FeatureNotEnabled"):
            return PealError(.conflict, "broadcasts are not enabled for the app at Apple: \(told)")
        case (403, _): return PealError(.conflict, "the credential was refused: \(told)")
        case (429, _): return PealError(.rateLimited, told, retryAfterSeconds: retryAfterSeconds ?? 60)
        case (500..., _): return PealError(.unavailable, told, retryAfterSeconds: retryAfterSeconds)
        default: return PealError(.conflict, told)
        }
    }
}
