/// A URL at which an app receives reports, and how Peal authenticates itself there.
package struct Webhook: Sendable, Hashable {
    /// The webhook's number on this server, never reused.
    package var key: WebhookKey
    package var app: AppKey
    /// The author's own name for it, unique in the app.
    package var name: String
    package var url: String
    package var kind: Kind
    package var authentication: Authentication
    package var createdAt: Timestamp
    package var changedAt: Timestamp
    /// When its receiver answered 410 Gone. Peal sends nothing to it until it is put again.
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

    package var reference: WebhookReference { WebhookReference(app: app, key: key) }
}

extension Webhook {
    /// The content and form of a webhook's requests: the name of a `Form`. It is stored and part of the API.
    package struct Kind: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package init(stringLiteral value: String) { rawValue = value }
    }

    /// How a receiver recognizes requests from this server.
    package enum Authentication: Sendable, Hashable {
        /// HTTP Basic (RFC 7617).
        case basic(username: String, password: String)
        /// `Authorization: Bearer …` (RFC 6750).
        case bearer(accessToken: String)
        /// A header of the receiver's choice.
        case header(name: String, value: String)
        /// Standard Webhooks 1.0: HMAC-SHA256 of id, time and body with this key.
        case signature(key: [UInt8])
        /// A plain secret in the header that the webhook's form names.
        case secret(String)

        /// The type's name in the API.
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

/// Identifies a webhook.
package struct WebhookReference: Sendable, Hashable, Comparable {
    package let app: AppKey
    package let key: WebhookKey

    package init(app: AppKey, key: WebhookKey) {
        self.app = app
        self.key = key
    }

    package static func < (left: WebhookReference, right: WebhookReference) -> Bool {
        (left.app, left.key) < (right.app, right.key)
    }
}

package typealias WebhookKey = Int64
package typealias WebhookDeliveryID = Identifier<WebhookDelivery>
package typealias OutboxEventID = Identifier<OutboxEvent>

/// Decides which URLs webhooks may have: https to public hosts, and hosts that the configuration lists.
package struct WebhookRules: Sendable {
    /// Hosts that may be private: `host`, `host:port` or `.suffix`.
    package let allowedHosts: [String]
    /// Ports of other hosts, besides 443.
    package let allowedPorts: [Int]

    package init(allowedHosts: [String] = [], allowedPorts: [Int] = []) {
        self.allowedHosts = allowedHosts
        self.allowedPorts = allowedPorts
    }

    /// The target of a URL.
    package struct Target: Sendable, Hashable {
        /// The URL with scheme and host in lower case.
        package let url: String
        package let host: String
        package let isSecure: Bool
        /// Whether the host is listed.
        let mayBePrivate: Bool

        /// Whether Peal may connect to an address that the host resolves to. Plain http is only for this machine.
        /// - Parameter address: 4 or 16 bytes.
        package func allows(_ address: [UInt8]) -> Bool {
            isSecure ? mayBePrivate || AddressGuard.isPublic(address) : AddressGuard.isLoopback(address)
        }
    }

    /// Checks a URL. The addresses of its host are checked when a connection is made, by `Target.allows`.
    /// - Throws: `invalid_field` for `url`.
    package func target(_ url: String) throws(PealError) -> Target {
        guard url.utf8.count <= Limits.webhookURLBytesMax else {
            throw .invalid("url", "url must be at most \(Limits.webhookURLBytesMax) bytes long")
        }
        guard let uri = EndpointURI(url) else {
            throw .invalid(
                "url", "url must be an https URL with a host name, without user name, spaces or fragment")
        }
        let isListed = allowedHosts.compactMap(AllowedHost.init).contains { $0.matches(uri) }
        guard uri.isSecure || (isListed && uri.isLoopback) else {
            throw .invalid("url", "url must be https; http only to a loopback host in PEAL_WEBHOOKS_ALLOWED_HOSTS")
        }
        guard isListed || uri.port == 443 || allowedPorts.contains(uri.port) else {
            throw .invalid("url", "url must use port 443, or one in PEAL_WEBHOOKS_ALLOWED_PORTS")
        }
        guard isListed || !Self.isPrivate(uri) else {
            throw .invalid("url", "url names a private host that is not in PEAL_WEBHOOKS_ALLOWED_HOSTS")
        }
        return Target(url: uri.text, host: uri.host, isSecure: uri.isSecure, mayBePrivate: isListed)
    }

    /// Whether the host itself shows that it is private. This includes unusual spellings of IPv4 addresses: resolvers
    /// read many.
    private static func isPrivate(_ uri: EndpointURI) -> Bool {
        if uri.isLoopback { return true }
        guard uri.isIPAddress else { return false }
        return !(IPAddress(uri.host).map { AddressGuard.isPublic($0.bytes) } ?? false)
    }
}

/// Puts, deletes and retries webhooks.
package struct WebhookVerbs: Sendable {
    let store: any Store
    let rules: WebhookRules

    /// A checked request for a webhook.
    package struct Draft: Sendable {
        package var app: AppKey
        package var name: String
        package var url: String
        package var kind: Webhook.Kind
        package var authentication: Webhook.Authentication

        package init(
            app: AppKey, name: String, url: String, kind: Webhook.Kind, authentication: Webhook.Authentication
        ) {
            self.app = app
            self.name = name
            self.url = url
            self.kind = kind
            self.authentication = authentication
        }
    }

    /// Creates a webhook, or replaces the one with that name.
    /// - Throws: `invalid_field` for a URL that Peal must not connect to; `conflict` beyond
    ///   `Limits.webhooksPerAppMax`.
    package func put(_ draft: Draft, _ call: VerbCall) async throws -> (webhook: Webhook, isNew: Bool) {
        _ = try rules.target(draft.url)
        let webhook = Webhook(
            key: 0, app: draft.app, name: draft.name, url: draft.url, kind: draft.kind,
            authentication: draft.authentication, createdAt: call.now, changedAt: call.now)
        return try await store.write(.control) { store in
            let put = try store.putWebhook(webhook)
            let count = try store.webhooks(app: draft.app, after: nil, limit: Limits.webhooksPerAppMax + 1).count
            guard !put.isNew || count <= Limits.webhooksPerAppMax else {
                throw PealError(.conflict, "an app may have at most \(Limits.webhooksPerAppMax) webhooks")
            }
            try store.audit(call, app: draft.app, "webhook.put", "webhook \(draft.name)")
            return put
        }
    }

    /// - Throws: `not_found`.
    package func delete(_ name: String, app: AppKey, _ call: VerbCall) async throws {
        try await store.write(.control) { store in
            guard try store.deleteWebhook(app: app, name: name, now: call.now) else {
                throw PealError.notFound("webhook")
            }
            try store.audit(call, app: app, "webhook.delete", "webhook \(name)")
        }
    }

    /// Queues an event of type `test` for the webhook alone.
    /// - Throws: `not_found`; `conflict` when the webhook is disabled.
    package func test(
        _ name: String, id: OutboxEventID, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (OutboxEvent) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.control, call, reply: reply) { store in
            guard let webhook = try store.webhook(app: app, name: name) else { throw PealError.notFound("webhook") }
            guard webhook.disabledAt == nil else {
                throw PealError(.conflict, "the webhook is disabled; PUT it again to enable it")
            }
            let payload: JSON = ["test": true]
            let event = OutboxEvent(id: id, app: app, type: "test", payload: payload.bytes, createdAt: call.now)
            try store.enqueue(event, to: webhook.reference)
            try store.audit(call, app: app, "webhook.test", "webhook \(name)")
            return event
        }.reply
    }

    /// Retries a failed delivery for another day, and a pending one immediately.
    /// - Throws: `not_found`; `conflict` when it is delivered, has no request, or its webhook is disabled.
    package func retry(
        _ id: WebhookDeliveryID, of name: String, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (WebhookDelivery) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.control, call, reply: reply) { store in
            guard let webhook = try store.webhook(app: app, name: name) else { throw PealError.notFound("webhook") }
            guard let known = try store.delivery(of: webhook.reference, id: id) else {
                throw PealError.notFound("delivery")
            }
            guard webhook.disabledAt == nil else {
                throw PealError(.conflict, "the webhook is disabled; PUT it again to enable it")
            }
            guard known.state.successors.contains(.pending) else {
                throw PealError(.conflict, "the delivery is \(known.state.name) and cannot be retried")
            }
            guard let retried = try store.retryDelivery(of: webhook.reference, id: id, now: call.now) else {
                throw PealError(.conflict, "the delivery never had a request and cannot be retried")
            }
            try store.audit(call, app: app, "webhook.retry", "delivery \(id) of webhook \(name)")
            return retried
        }.reply
    }
}
