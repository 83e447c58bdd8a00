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
        let isPlain = url.utf8.allSatisfy { (0x21..<0x7F).contains($0) && !Self.forbidden.contains($0) }
        guard isPlain, let authority = AddressRules.authority(of: url) else {
            throw .invalid(
                "url", "url must be an https URL with a host name, without user name, blanks or fragment")
        }
        let host = String(authority.prefix { $0 != ":" })
        let isListed = allowedHosts.contains { AddressRules.matches(authority, $0) }
        let isSecure = url.lowercased().hasPrefix("https://")
        guard isSecure || (isListed && Self.isLoopback(host)) else {
            throw .invalid("url", "url must be https; http only to a loopback host in PEAL_WEBHOOKS_ALLOWED_HOSTS")
        }
        let isPrivate = Self.isLoopback(host) || Self.ipv4(host).map { !AddressGuard.isPublic($0) } ?? false
        guard isListed || !isPrivate else {
            throw .invalid("url", "url leads to a private host that PEAL_WEBHOOKS_ALLOWED_HOSTS does not list")
        }
        let scheme = isSecure ? "https://" : "http://"
        let rest = url.utf8.dropFirst(scheme.utf8.count + authority.utf8.count)
        return Target(
            url: scheme + authority + (String(rest) ?? ""), host: host, isSecure: isSecure, mayBePrivate: isListed)
    }

    /// A fragment is for browsers, and readers of URLs disagree about backslashes.
    private static let forbidden: [UInt8] = [UInt8(ascii: "#"), UInt8(ascii: "\\")]

    private static func isLoopback(_ host: String) -> Bool {
        if let address = ipv4(host) { return AddressGuard.isLoopback(address) }
        return host == "localhost" || host.hasSuffix(".localhost")
    }

    /// The bytes of an address written as four numbers.
    private static func ipv4(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { UInt8($0) }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }
}
