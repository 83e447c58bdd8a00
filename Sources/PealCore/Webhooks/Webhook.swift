/// Where an app wants to be told of what happened, and how Peal proves there that it is Peal.
package struct Webhook: Sendable, Hashable {
    /// Its number on this server, never given twice.
    package var key: WebhookKey
    package var app: AppKey
    /// The author's own name for it, unique in the app.
    package var name: String
    package var url: String
    package var kind: Kind
    package var authentication: Authentication
    package var createdAt: Timestamp
    package var changedAt: Timestamp
    /// When its receiver said that it is gone; nothing is sent to it until it is put again.
    package var disabledAt: Timestamp?

    package init(
        key: WebhookKey, app: AppKey, name: String, url: String, kind: Kind, authentication: Authentication,
        createdAt: Timestamp, changedAt: Timestamp, disabledAt: Timestamp? = nil
    ) {
        self.key = key
        self.app = app
        self.name = name
        self.url = url
        self.kind = kind
        self.authentication = authentication
        self.createdAt = createdAt
        self.changedAt = changedAt
        self.disabledAt = disabledAt
    }

    package var place: WebhookPlace { WebhookPlace(app: app, webhook: key) }
}

extension Webhook {
    /// What a webhook is told, and in which shape. The raw value is stored and stands in the API.
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        /// One request when a Richie task is done: its analytics callback.
        case richieReport = "richie_report"
        /// ContextPush's `message_status` and `device_transition`, gathered into arrays.
        case contextpush
        /// One request an event, as Standard Webhooks has it: `{type, timestamp, data}`.
        case events

        /// Events that share a request.
        package var itemsPerRequestMax: Int { self == .contextpush ? Limits.webhookItemsPerRequestMax : 1 }

        /// How long the first event of a request waits for others.
        package var gathering: Duration { self == .contextpush ? .seconds(Limits.webhookGatherSeconds) : .zero }

        /// Requests to one webhook at once. Gathered ones go one after the other, so that they arrive in order.
        package var requestsInFlightMax: Int { self == .contextpush ? 1 : Limits.webhookRequestsInFlightMax }
    }

    /// How a receiver knows that a request is from this server.
    package enum Authentication: Sendable, Hashable {
        /// HTTP Basic (RFC 7617).
        case basic(username: String, password: String)
        /// `Authorization: Bearer …` (RFC 6750).
        case bearer(accessToken: String)
        /// A header of the receiver's choice.
        case header(name: String, value: String)
        /// Standard Webhooks 1.0: HMAC-SHA256 under this key over id, time and body.
        case signature(key: [UInt8])
        /// ContextPush's `X-CTX-Secret`.
        case secret(String)

        /// The word in the API.
        package var type: String {
            switch self {
            case .basic: "basic"
            case .bearer: "bearer"
            case .header: "header"
            case .signature: "signature"
            case .secret: "secret"
            }
        }
    }
}

/// Which webhook of which app.
package struct WebhookPlace: Sendable, Hashable, Comparable {
    package let app: AppKey
    package let webhook: WebhookKey

    package init(app: AppKey, webhook: WebhookKey) {
        self.app = app
        self.webhook = webhook
    }

    package static func < (left: WebhookPlace, right: WebhookPlace) -> Bool {
        (left.app, left.webhook) < (right.app, right.webhook)
    }
}

package typealias WebhookKey = Int64
package typealias WebhookDeliveryID = Identifier<WebhookDelivery>
package typealias OutboxEventID = Identifier<OutboxEvent>
