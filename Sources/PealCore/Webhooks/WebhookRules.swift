/// Decides where webhooks may lead: over https to public hosts, and to those that the configuration lists.
package struct WebhookRules: Sendable {
    /// `host`, `host:port` or `.suffix` that may be private.
    package let allowedHosts: [String]

    package init(allowedHosts: [String] = []) { self.allowedHosts = allowedHosts }

    /// Where a URL leads.
    package struct Target: Sendable, Hashable {
        /// The URL with scheme and host in lower case.
        package let url: String
        package let host: String
        package let isSecure: Bool
        /// Whether the host is listed.
        package let mayBePrivate: Bool

        /// Whether to connect to an address that the host resolves to. Plain http stays on this machine.
        /// - Parameter address: 4 or 16 bytes.
        package func allows(_ address: [UInt8]) -> Bool {
            isSecure ? mayBePrivate || AddressGuard.isPublic(address) : AddressGuard.isLoopback(address)
        }
    }

    /// Checks a URL. What its host resolves to is judged when a connection is made, by `Target.allows`.
    /// - Throws: `invalid_field` for `url`.
    package func target(_ url: String) throws(PealError) -> Target {
        guard url.utf8.count <= Limits.webhookURLBytesMax else {
            throw .invalid("url", "url may be \(Limits.webhookURLBytesMax) bytes long at most")
        }
        guard let uri = EndpointURI(url) else {
            throw .invalid(
                "url", "url must be an https URL with a host name, without user name, blanks or fragment")
        }
        let isListed = allowedHosts.contains { AllowedHost($0).matches(uri) }
        guard uri.isSecure || (isListed && uri.isLoopback) else {
            throw .invalid("url", "url must be https; http only to a loopback host in PEAL_WEBHOOKS_ALLOWED_HOSTS")
        }
        guard isListed || !Self.isPrivate(uri) else {
            throw .invalid("url", "url leads to a private host that PEAL_WEBHOOKS_ALLOWED_HOSTS does not list")
        }
        return Target(url: uri.text, host: uri.host, isSecure: uri.isSecure, mayBePrivate: isListed)
    }

    /// Whether the host alone tells it. An address in another spelling than four numbers counts too: resolvers read
    /// many.
    private static func isPrivate(_ uri: EndpointURI) -> Bool {
        if uri.isLoopback { return true }
        guard uri.isIPAddress else { return false }
        return !(IPAddress(uri.host).map { AddressGuard.isPublic($0.bytes) } ?? false)
    }
}
