internal import Logging
internal import PealCore

/// Serves one webhook until nothing is due: retries first, then new events.
struct WebhookLane: Sendable {
    let context: CourierContext
    let reference: WebhookReference

    /// Returns when nothing is due, the process stops, or it is another webhook's turn.
    func run() async {
        for _ in 0..<Limits.webhookRoundsMax {
            guard !context.isStopping, !Task.isCancelled else { return }
            do {
                guard let work = try await take() else { return }
                await send(work)
                guard !context.mustYield(reference) else { return }
            } catch is Overtaken {
                return
            } catch {
                if !PealError.isOutage(error), await failUnreadable() { continue }
                if context.outages.isDue(error) {
                    let metadata = await metadata(["error": "\(error)"])
                    context.logger.error("cannot serve a webhook", metadata: metadata)
                }
                if !PealError.isOutage(error) { context.setAside(reference) }
                return
            }
        }
    }

    /// Fails events and deliveries that cannot be read. Returns whether there were any.
    private func failUnreadable() async -> Bool {
        let now = context.time.now
        let ids = try? await context.store.write(.rest) { [reference, randomness = context.randomness] store in
            // As many as are read at once.
            try store.failUnreadable(of: reference, limit: 2 * Limits.webhookItemsPerRequestMax, now: now) {
                randomness.timeOrderedIdentifier(at: now)
            }
        }
        guard let ids, !ids.isEmpty else { return false }
        context.metrics.change { $0.failed += ids.count }
        let metadata = await metadata(["ids": "\(ids.joined(separator: " "))"])
        context.logger.error("events for a webhook cannot be read", metadata: metadata)
        return true
    }

    private struct Work: Sendable {
        let webhook: Webhook
        let form: Webhook.Form
        let leased: [LeasedDelivery]
    }

    /// What one read of the store found.
    private struct Finding: Sendable {
        let webhook: Webhook
        let composer: any ReportComposer
        let room: Int
        let isDeliveryDue: Bool
        let batches: [[OutboxEvent]]
        let facts: [MessageID: MessageFacts]
    }

    /// Another process took the same events first.
    private struct Overtaken: Error {}

    /// Leases due deliveries and makes new ones from waiting events, in one transaction; nil when there is nothing to
    /// do.
    private func take() async throws -> Work? {
        let now = context.time.now
        guard let finding = try await context.store.read({ try find(in: $0, now: now) }) else { return nil }
        guard finding.isDeliveryDue || !finding.batches.isEmpty else { return nil }
        let requests = finding.batches.prefix(finding.room).map { request($0, finding, now: now) }
        let (reference, owner) = (reference, context.owner)
        let leased: [LeasedDelivery] = try await context.store.write(.rest) { [time = context.time] store in
            guard try !mustWait(finding.composer.form, in: store, now: time.now) else { return [] }
            // Computed here, because the write may have waited for others.
            let until = time.now + .seconds(Limits.webhookLeaseSeconds)
            var leased = try store.leaseDeliveries(
                of: reference, limit: finding.room, owner: owner, until: until, now: now)
            for request in requests.prefix(finding.room - leased.count) {
                let cut = try store.cut(
                    request.events, into: request.delivery, body: request.body, owner: owner, until: until)
                guard let cut else { throw Overtaken() }
                leased.append(cut)
            }
            return leased
        }
        let failed = leased.filter { $0.delivery.state == .failed }
        if !failed.isEmpty {
            context.metrics.change { $0.failed += failed.count }
            let metadata = await metadata(["deliveries": .stringConvertible(failed.count)])
            context.logger.warning("cannot compose the reports of messages", metadata: metadata)
        }
        return leased.isEmpty
            ? nil
            : Work(
                webhook: finding.webhook, form: finding.composer.form,
                leased: leased.filter { $0.delivery.state == .pending })
    }

    private func find(in store: any StoreReading, now: Timestamp) throws -> Finding? {
        guard let webhook = try store.webhook(reference), webhook.disabledAt == nil,
            let composer = context.composers[webhook.kind], try !mustWait(composer.form, in: store, now: now)
        else { return nil }
        let plan = BatchPlan(form: composer.form)
        let room = context.room(for: webhook, composer.form)
        let events = try store.outboxEvents(for: reference, limit: plan.eventsToRead(requestCount: room))
        let batches = plan.batches(events, now: now)
        var facts: [MessageID: MessageFacts] = [:]
        for event in batches.joined() where event.payload == nil {
            guard let message = event.message else { continue }
            facts[message] = try readFacts(of: message, in: store)
        }
        return Finding(
            webhook: webhook, composer: composer, room: room,
            isDeliveryDue: try store.isDeliveryDue(for: reference, now: now),
            batches: batches.flatMap { Self.divided($0, facts) }, facts: facts)
    }

    /// Whether another server is sending to this webhook, although its requests must arrive in order.
    private func mustWait(_ form: Webhook.Form, in store: any StoreReading, now: Timestamp) throws -> Bool {
        try form.requestsInFlightMax == 1 && store.isDeliveryLeased(for: reference, now: now)
    }

    /// - Returns: nil if the message is gone or cannot be read.
    private func readFacts(of message: MessageID, in store: any StoreReading) throws -> MessageFacts? {
        do {
            return try store.facts(app: reference.app, message: message)
        } catch let error where !PealError.isOutage(error) {
            context.logger.error(
                "a message cannot be reported to a webhook because it cannot be read",
                metadata: ["message": "\(message)", "error": "\(error)"])
            return nil
        }
    }

    /// The batch without events about messages that are gone or cannot be read, and each of those events alone, whose
    /// deliveries fail.
    private static func divided(_ batch: [OutboxEvent], _ facts: [MessageID: MessageFacts]) -> [[OutboxEvent]] {
        let missing = batch.filter { $0.payload == nil && $0.message.flatMap { facts[$0] } == nil }
        guard !missing.isEmpty else { return [batch] }
        let rest = batch.filter { !missing.contains($0) }
        return (rest.isEmpty ? [] : [rest]) + missing.map { [$0] }
    }

    private func request(
        _ events: [OutboxEvent], _ finding: Finding, now: Timestamp
    ) -> (events: [OutboxEvent], delivery: WebhookDelivery, body: [UInt8]?) {
        let body = BodyWriter(composer: finding.composer).body(events, facts: finding.facts)
        var delivery = WebhookDelivery(
            id: context.randomness.timeOrderedIdentifier(at: now), webhook: reference, type: events.first?.type ?? "",
            itemCount: events.count, createdAt: now)
        if body == nil {
            delivery.state = .failed
            delivery.lastError = WebhookDelivery.Refusal.noReport.rawValue
            delivery.endedAt = now
        }
        return (events, delivery, body)
    }

    private func send(_ work: Work) async {
        let isFine = await withTaskGroup(of: Bool.self) { group in
            for leased in work.leased {
                group.addTask {
                    await WebhookAttempt(context: context, webhook: work.webhook, form: work.form).run(leased)
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
        context.note(reference, isFailing: !isFine)
    }

    private func metadata(_ more: Logger.Metadata) async -> Logger.Metadata {
        let app = await context.store.shownID(of: reference.app)
        return more.merging(["app": "\(app)", "webhook": "\(reference.key)"]) { $1 }
    }
}
