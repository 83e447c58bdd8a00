internal import Synchronization

/// The hosts that addresses of devices and webhooks may be on. The configuration may be reloaded.
package final class HostRules: Sendable {
    private let rules: Mutex<(addresses: AddressRules, webhooks: WebhookRules)>

    package init(_ addresses: AddressRules, _ webhooks: WebhookRules) { rules = Mutex((addresses, webhooks)) }

    package var addresses: AddressRules { rules.withLock { $0.addresses } }
    package var webhooks: WebhookRules { rules.withLock { $0.webhooks } }

    package func set(_ addresses: AddressRules, _ webhooks: WebhookRules) {
        rules.withLock { $0 = (addresses, webhooks) }
    }
}
