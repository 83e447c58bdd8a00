internal import Crypto
internal import FoundationEssentials
package import PealCore

/// A POST to a webhook, ready to be sent.
package struct WebhookRequest: Sendable, Hashable {
    package let url: String
    /// The webhook's app.
    package let app: AppKey
    package let headers: [Header]
    package let body: [UInt8]

    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// - Parameters:
    ///   - target: the webhook's URL, checked.
    ///   - form: the form of requests of the webhook's kind.
    ///   - now: the time of this attempt. It is part of the signature, which prevents replays.
    init(
        _ delivery: WebhookDelivery, body: [UInt8], to target: WebhookRules.Target, of webhook: Webhook,
        _ form: Webhook.Form, now: Timestamp
    ) {
        url = target.url
        app = webhook.app
        self.body = body
        var headers = [("content-type", "application/json"), ("user-agent", "Peal")]
        if case .signature = webhook.authentication, form.naming == .standard {
            // The signature adds headers with the same names.
        } else {
            headers += Self.naming(delivery, form, now: now)
        }
        headers += Self.proof(delivery, body: body, webhook.authentication, form, now: now)
        self.headers = headers.map { Header(name: $0, value: $1) }
    }

    /// Headers that identify the delivery, so that the receiver can recognize a repetition.
    private static func naming(
        _ delivery: WebhookDelivery, _ form: Webhook.Form, now: Timestamp
    ) -> [(String, String)] {
        let id = delivery.id.description
        return switch form.naming {
        case .standard: standard(id, now)
        case .headers(let idName, nil): [(idName, id)]
        case .headers(let idName, let typeName?): [(typeName, delivery.type), (idName, id)]
        }
    }

    /// Standard Webhooks 1.0, "Webhook headers": https://www.standardwebhooks.com.
    private static func standard(_ id: String, _ now: Timestamp) -> [(String, String)] {
        [("webhook-id", id), ("webhook-timestamp", String(now.seconds))]
    }

    private static func proof(
        _ delivery: WebhookDelivery, body: [UInt8], _ authentication: Webhook.Authentication, _ form: Webhook.Form,
        now: Timestamp
    ) -> [(String, String)] {
        switch authentication {
        case .basic(let username, let password):
            return [("authorization", "Basic " + Data("\(username):\(password)".utf8).base64EncodedString())]
        case .bearer(let accessToken): return [("authorization", "Bearer \(accessToken)")]
        case .header(let name, let value): return [(name, value)]
        case .secret(let secret): return form.secretHeader.map { [($0, secret)] } ?? []
        case .signature(let key):
            let id = delivery.id.description
            let signature = signature(of: body, id: id, seconds: now.seconds, key: key)
            return standard(id, now) + [("webhook-signature", signature)]
        }
    }

    /// Standard Webhooks 1.0, "Signature scheme": HMAC-SHA256 over `id.timestamp.body`, in base64 after its version.
    static func signature(of body: [UInt8], id: String, seconds: Int64, key: [UInt8]) -> String {
        let signed = Array("\(id).\(seconds).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
        return "v1," + Data(code).base64EncodedString()
    }
}

/// Writes the body of a request from its events.
struct BodyWriter: Sendable {
    let composer: any ReportComposer

    /// - Parameters:
    ///   - events: the events of one request.
    ///   - facts: about the messages whose reports are composed now.
    /// - Returns: nil when a report cannot be composed.
    func body(_ events: [OutboxEvent], facts: [MessageID: MessageFacts]) -> [UInt8]? {
        let items = events.compactMap { item($0, facts: facts) }
        guard items.count == events.count, let event = events.first, let item = items.first else { return nil }
        switch composer.form.body {
        case .item: return item
        case .array: return Array("[".utf8) + Array(items.joined(separator: ",".utf8)) + Array("]".utf8)
        case .event:
            let head = JSON.compact([("type", .string(event.type)), ("timestamp", .string("\(event.createdAt)"))])
            return head.bytes.dropLast() + Array(#","data":"#.utf8) + item + Array("}".utf8)
        }
    }

    private func item(_ event: OutboxEvent, facts: [MessageID: MessageFacts]) -> [UInt8]? {
        if let payload = event.payload { return payload }
        guard let facts = event.message.flatMap({ facts[$0] }) else { return nil }
        return composer.report(facts)?.bytes
    }
}
