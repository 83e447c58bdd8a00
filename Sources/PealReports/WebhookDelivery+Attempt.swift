internal import PealCore

extension WebhookDelivery {
    /// The delivery after one attempt: delivered, to be tried again, or given up.
    /// - Parameter chance: Any number; spreads the retries of many deliveries by a fifth.
    func after(_ answer: WebhookAnswer, now: Timestamp, chance: UInt64) -> WebhookDelivery {
        var next = self
        next.attempts += 1
        next.lastStatus = nil
        next.lastError = nil
        var wanted: Duration?
        switch answer {
        case .answered(let status, let retryAfter):
            next.lastStatus = status
            wanted = retryAfter
            if (200..<300).contains(status) { return next.ended(.delivered, now) }
        case .failed(let failure): next.lastError = failure.rawValue
        }
        next.nextAttemptAt = now + Self.delay(attempts: next.attempts, wanted: wanted, chance: chance)
        let isOver = next.nextAttemptAt > startedAt + .seconds(Limits.webhookRetryLifeSeconds)
        return answer.isGone || isOver ? next.ended(.failed, now) : next
    }

    private func ended(_ state: State, _ now: Timestamp) -> WebhookDelivery {
        var ended = self
        ended.state = state
        ended.endedAt = now
        return ended
    }

    /// 5 s doubling to an hour, or longer where the receiver asks for it, but never longer than an hour.
    private static func delay(attempts: Int, wanted: Duration?, chance: UInt64) -> Duration {
        let longest = Limits.webhookRetrySecondsMax
        let step = min(longest, Limits.webhookRetrySecondsMin << Int64(min(max(attempts, 1), 12) - 1))
        let spread = Duration.milliseconds(step * 1000 + Int64(chance % UInt64(step * 200)))
        return min(.seconds(longest), max(spread, wanted ?? .zero))
    }
}
