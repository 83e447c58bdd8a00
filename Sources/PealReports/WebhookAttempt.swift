internal import Logging
internal import PealCore

/// One try to get one delivery to its receiver, written down before anything else is done.
struct WebhookAttempt: Sendable {
    let context: CourierContext
    let webhook: Webhook
    let form: Webhook.Form

    /// Returns whether the receiver took it.
    func run(_ leased: LeasedDelivery) async -> Bool {
        let answer = await answer(to: leased)
        var settled = leased
        // A request given up because the process stops is no failure of the receiver's.
        let isGivenUp = if case .failed = answer { Task.isCancelled } else { false }
        if !isGivenUp {
            settled.delivery = leased.delivery.after(
                answer, now: context.time.now, chance: context.randomness.next())
        }
        await settle(settled, isGone: answer.isGone)
        if !isGivenUp { tell(settled.delivery) }
        return settled.delivery.state == .delivered
    }

    private func answer(to leased: LeasedDelivery) async -> WebhookAnswer {
        guard let target = try? context.rules.target(webhook.url) else { return .failed(.urlNotAllowed) }
        let request = WebhookRequest(
            leased.delivery, body: leased.body, to: target, of: webhook, form, now: context.time.now)
        return await context.transport.send(request, to: target, attempt: leased.delivery.attempts)
    }

    /// What is not written down is sent again when its lease is over.
    private func settle(_ leased: LeasedDelivery, isGone: Bool) async {
        let now = context.time.now
        do {
            try await context.store.write(.rest) { store in
                guard try store.settle(leased), isGone else { return }
                try store.disableWebhook(leased.delivery.place, now: now)
            }
        } catch {
            context.logger.error(
                "the outcome of a delivery could not be written",
                metadata: metadata(leased.delivery, ["error": "\(error)"]))
        }
    }

    private func tell(_ delivery: WebhookDelivery) {
        let reason = delivery.lastError ?? delivery.lastStatus.map { "\($0)" } ?? ""
        let metadata = metadata(delivery, ["attempts": "\(delivery.attempts)", "reason": "\(reason)"])
        switch delivery.state {
        case .delivered:
            context.metrics.change { $0.delivered += 1 }
            context.logger.debug("delivered to a webhook", metadata: metadata)
        case .pending:
            context.metrics.change { $0.retried += 1 }
            context.logger.info("a webhook is tried again later", metadata: metadata)
        case .failed:
            context.metrics.change { $0.failed += 1 }
            context.logger.warning("a delivery to a webhook was given up", metadata: metadata)
        }
    }

    private func metadata(_ delivery: WebhookDelivery, _ more: Logger.Metadata) -> Logger.Metadata {
        more.merging([
            "app": "\(delivery.place.app)", "webhook": "\(delivery.place.webhook)", "delivery": "\(delivery.id)",
        ]) { $1 }
    }
}

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
