internal import PealCore

/// Decides which waiting events go into which requests, and whether they go now.
struct BatchPlan {
    let form: Webhook.Form

    /// How many events to look at for `requestCount` requests. Twice as many as fit, where types may lie mixed.
    func eventsToRead(requestCount: Int) -> Int {
        form.itemsPerRequestMax == 1 ? requestCount : 2 * form.itemsPerRequestMax * requestCount
    }

    /// The requests that are due, oldest first: of one type each, full or begun by an event that has waited long
    /// enough.
    /// - Parameter events: the oldest that wait, in order.
    func batches(_ events: [OutboxEvent], now: Timestamp) -> [[OutboxEvent]] {
        guard form.itemsPerRequestMax > 1 else { return events.filter { $0.dueAt <= now }.map { [$0] } }
        var open: [String: Batch] = [:]
        var batches: [Batch] = []
        for (position, event) in events.enumerated() {
            var batch = open[event.type] ?? Batch(position: position)
            if !batch.hasRoom(for: event, itemsMax: form.itemsPerRequestMax) {
                batch.isFull = true
                batches.append(batch)
                batch = Batch(position: position)
            }
            batch.add(event)
            batch.isFull = batch.events.count == form.itemsPerRequestMax
            open[event.type] = batch
        }
        batches += open.values
        return batches.sorted { $0.position < $1.position }.filter { $0.isDue(now) }.map(\.events)
    }

    private struct Batch {
        /// Where its first event was.
        let position: Int
        var events: [OutboxEvent] = []
        var isFull = false
        private var byteCount = 0

        init(position: Int) { self.position = position }

        func hasRoom(for event: OutboxEvent, itemsMax: Int) -> Bool {
            events.isEmpty
                || events.count < itemsMax && byteCount + Self.size(event) <= Limits.webhookBodyBytesMax
        }

        mutating func add(_ event: OutboxEvent) {
            events.append(event)
            byteCount += Self.size(event)
        }

        func isDue(_ now: Timestamp) -> Bool { isFull || events.first.map { $0.dueAt <= now } ?? false }

        /// With the comma.
        private static func size(_ event: OutboxEvent) -> Int { (event.payload?.count ?? 0) + 1 }
    }
}
