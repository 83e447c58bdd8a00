internal import Crypto
internal import FoundationEssentials
internal import PealCore

/// A POST to a webhook, ready to be sent.
package struct WebhookRequest: Sendable, Hashable {
    package let url: String
    package let headers: [Header]
    package let body: [UInt8]

    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// - Parameters:
    ///   - target: the webhook's URL, checked.
    ///   - now: the time of this attempt. It is part of the signature, which prevents replays.
    init(
        _ delivery: WebhookDelivery, body: [UInt8], to target: WebhookRules.Target, of webhook: Webhook, now: Timestamp
    ) {
        url = target.url
        self.body = body
        var headers = [("content-type", "application/json"), ("user-agent", "Peal")]
        headers += Self.naming(delivery, webhook, now: now)
        headers += Self.proof(delivery, body: body, webhook.authentication, now: now)
        self.headers = headers.map { Header(name: $0, value: $1) }
    }

    /// Headers that identify the delivery, so that the receiver can recognise a repetition.
    private static func naming(
        _ delivery: WebhookDelivery, _ webhook: Webhook, now: Timestamp
    ) -> [(String, String)] {
        let id = delivery.id.description
        switch (webhook.kind, webhook.authentication) {
        // ContextPush's own header names, https://docs.contextsdk.com (webhooks).
        case (.contextpush, _): return [("X-CTX-Event-Type", delivery.type), ("X-Idempotency-Key", id)]
        case (.richieReport, _): return [("X-Idempotency-Key", id)]
        case (.events, .signature): return []
        case (.events, _): return standard(id, now)
        }
    }

    /// Standard Webhooks 1.0, "Webhook headers": https://www.standardwebhooks.com.
    private static func standard(_ id: String, _ now: Timestamp) -> [(String, String)] {
        [("webhook-id", id), ("webhook-timestamp", String(now.seconds))]
    }

    private static func proof(
        _ delivery: WebhookDelivery, body: [UInt8], _ authentication: Webhook.Authentication, now: Timestamp
    ) -> [(String, String)] {
        switch authentication {
        case .basic(let username, let password):
            return [("authorization", "Basic " + Data("\(username):\(password)".utf8).base64EncodedString())]
        case .bearer(let accessToken): return [("authorization", "Bearer \(accessToken)")]
        case .header(let name, let value): return [(name, value)]
        case .secret(let secret): return [("X-CTX-Secret", secret)]
        case .signature(let key):
            let id = delivery.id.description
            let signature = signature(of: body, id: id, seconds: now.seconds, key: key)
            return standard(id, now) + [("webhook-signature", signature)]
        }
    }

    /// Standard Webhooks 1.0, "Signature scheme": HMAC-SHA256 over `id.timestamp.body`, in base64 behind its version.
    static func signature(of body: [UInt8], id: String, seconds: Int64, key: [UInt8]) -> String {
        let signed = Array("\(id).\(seconds).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
        return "v1," + Data(code).base64EncodedString()
    }
}

/// Writes the body of a request from its events.
struct BodyWriter: Sendable {
    /// The report composer of each kind of webhook.
    let composers: [Webhook.Kind: any ReportComposer]

    /// - Parameters:
    ///   - events: the events of one request.
    ///   - facts: about the messages whose reports are composed now.
    /// - Returns: nil when a report cannot be composed.
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
