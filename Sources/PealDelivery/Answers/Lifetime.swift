internal import PealCore

/// Until when a message is worth sending on one platform.
struct Lifetime: Sendable, Hashable {
    let end: Timestamp
    /// What the provider is told: an end that was asked for stands as it is, also beyond what the engine works for.
    let told: Timestamp
    /// Asked for with a life of 0 seconds: whoever cannot be reached at the first try is not tried again.
    let isOneAttempt: Bool

    init(_ message: Message, options: MessageOptions) {
        let start = message.startAt ?? message.createdAt
        isOneAttempt = options.life == .seconds(0)
        end =
            isOneAttempt
            ? start + .seconds(Limits.oneAttemptSeconds) : min(message.expiresAt, options.expiry(start: start))
        told = options.life == nil || isOneAttempt ? end : options.expiry(start: start)
    }

    func isOver(at now: Timestamp) -> Bool { now >= end }
}
