internal import PealCore

/// Writes the body of a request from its events.
struct BodyWriter: Sendable {
    /// Who writes the report of a message for a kind of webhook.
    let composers: [Webhook.Kind: any ReportComposer]

    /// - Parameters:
    ///   - events: of one request.
    ///   - facts: about the messages whose report is composed now.
    /// - Returns: nil when a report cannot be made.
    func body(_ events: [OutboxEvent], for kind: Webhook.Kind, facts: [MessageID: MessageFacts]) -> [UInt8]? {
        let items = events.compactMap { item($0, for: kind, facts: facts) }
        guard items.count == events.count, let event = events.first, let item = items.first else { return nil }
        switch kind {
        case .contextpush: return Array("[".utf8) + Array(items.joined(separator: ",".utf8)) + Array("]".utf8)
        case .richieReport: return item
        case .events:
            let head = JSON.compact([("type", .string(event.type)), ("timestamp", .string("\(event.createdAt)"))])
            return head.bytes.dropLast() + Array(#","data":"#.utf8) + item + Array("}".utf8)
        }
    }

    private func item(
        _ event: OutboxEvent, for kind: Webhook.Kind, facts: [MessageID: MessageFacts]
    ) -> [UInt8]? {
        if let payload = event.payload { return payload }
        guard let facts = event.message.flatMap({ facts[$0] }) else { return nil }
        return composers[kind]?.compose(facts)?.bytes
    }
}
