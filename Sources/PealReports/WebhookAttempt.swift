internal import Logging
internal import PealCore

/// One attempt at a delivery. Its outcome is stored before anything else happens.
struct WebhookAttempt: Sendable {
    let context: CourierContext
    let webhook: Webhook
    let form: Webhook.Form

    /// Returns whether the receiver accepted it.
    func run(_ leased: LeasedDelivery) async -> Bool {
        let answer = await answer(to: leased)
        // A request cancelled because the process stops is not a failure of the receiver.
        if case .failed = answer, Task.isCancelled {
            _ = await settle(leased, nil)
            return false
        }
        let delivery = await settle(leased, answer)
        await record(delivery)
        return delivery.state == .delivered
    }

    private func answer(to leased: LeasedDelivery) async -> WebhookAnswer {
        guard let target = try? context.rules.target(webhook.url) else { return .failed(.urlNotAllowed) }
        let request = WebhookRequest(
            leased.delivery, body: leased.body, to: target, of: webhook, form, now: context.time.now)
        return await context.transport.send(request, to: target, attempt: leased.delivery.attempts)
    }

    /// Stores the outcome. If that fails, the delivery is sent again when its lease ends.
    /// - Parameter answer: nil to only end the lease.
    /// - Returns: the delivery after the attempt.
    private func settle(_ leased: LeasedDelivery, _ answer: WebhookAnswer?) async -> WebhookDelivery {
        let (now, random) = (context.time.now, context.randomness.next())
        let after = { @Sendable (isGone: Bool) in
            answer.map { leased.delivery.after($0, isGone: isGone, now: now, random: random) } ?? leased.delivery
        }
        let saysGone = answer?.isGone == true
        do {
            return try await context.store.write(.rest) { [webhook] store in
                // The author may have replaced the URL in the meantime. Its receiver said nothing yet.
                let isGone = try saysGone && store.webhook(webhook.reference)?.changedAt == webhook.changedAt
                var settled = leased
                settled.delivery = after(isGone)
                if try store.settle(settled), isGone { try store.disableWebhook(webhook.reference, now: now) }
                return settled.delivery
            }
        } catch {
            if context.outages.isDue(error) {
                let metadata = await metadata(leased.delivery, ["error": "\(error)"])
                context.logger.error("cannot store the outcome of a webhook delivery", metadata: metadata)
            }
            return after(saysGone)
        }
    }

    private func record(_ delivery: WebhookDelivery) async {
        switch delivery.state {
        case .delivered:
            context.metrics.change { $0.delivered += 1 }
            // Without the app's id, which would have to be read.
            context.logger.debug(
                "webhook delivered", metadata: ["webhook": "\(webhook.name)", "delivery": "\(delivery.id)"])
        case .pending:
            context.metrics.change { $0.retried += 1 }
            let metadata = await failure(delivery)
            context.logger.info("webhook delivery failed and will be retried", metadata: metadata)
        case .failed:
            context.metrics.change { $0.failed += 1 }
            let metadata = await failure(delivery)
            context.logger.warning("webhook delivery failed permanently", metadata: metadata)
        }
    }

    private func failure(_ delivery: WebhookDelivery) async -> Logger.Metadata {
        let reason = delivery.lastError ?? delivery.lastStatus.map { "\($0)" } ?? ""
        return await metadata(delivery, ["attempts": .stringConvertible(delivery.attempts), "reason": "\(reason)"])
    }

    private func metadata(_ delivery: WebhookDelivery, _ more: Logger.Metadata) async -> Logger.Metadata {
        let app = await context.store.shownID(of: delivery.webhook.app)
        return more.merging(["app": "\(app)", "webhook": "\(webhook.name)", "delivery": "\(delivery.id)"]) { $1 }
    }
}

extension WebhookDelivery {
    /// The delivery after one attempt: delivered, pending another attempt, or failed.
    /// - Parameters:
    ///   - isGone: whether the webhook's receiver is gone permanently, so that no attempt follows.
    ///   - random: any number. It spreads the retries of many deliveries by a fifth.
    func after(_ answer: WebhookAnswer, isGone: Bool, now: Timestamp, random: UInt64) -> WebhookDelivery {
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
        next.nextAttemptAt = now + Self.delay(attempts: next.attempts, wanted: wanted, random: random)
        // It may have begun before the clock was set back.
        next.startedAt = min(startedAt, now)
        let isOver = next.nextAttemptAt > next.startedAt + .seconds(Limits.webhookRetryLifeSeconds)
        return isGone || isOver ? next.ended(.failed, now) : next
    }

    private func ended(_ state: State, _ now: Timestamp) -> WebhookDelivery {
        var ended = self
        ended.state = state
        ended.endedAt = now
        return ended
    }

    /// 5 s, doubling up to an hour; longer if the receiver asks for it, but never more than an hour.
    private static func delay(attempts: Int, wanted: Duration?, random: UInt64) -> Duration {
        let longest = Limits.webhookRetrySecondsMax
        let step = min(longest, Limits.webhookRetrySecondsMin << Int64(min(max(attempts, 1), 12) - 1))
        let spread = Duration.milliseconds(step * 1000 + Int64(random % UInt64(step * 200)))
        return min(.seconds(longest), max(spread, wanted ?? .zero))
    }
}
