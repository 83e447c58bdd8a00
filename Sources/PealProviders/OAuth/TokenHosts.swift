import PealCore

/// Which addresses a credential may ask for access tokens at: a stored credential must not aim the server at any other.
struct TokenHosts: Sendable, Hashable {
    /// `host` or `.suffix`, over https at its own port.
    let vendors: [String]
    /// `host`, `host:port` or `.suffix`, from the configuration; these may be http on loopback.
    let allowed: [String]

    private static let urlBytesMax = 2048

    /// Whether `url` is on a vendor's or an allowed host.
    func contains(_ url: String) -> Bool {
        guard url.utf8.count <= Self.urlBytesMax, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }) else {
            return false
        }
        let lowered = url.lowercased()
        let isSecure = lowered.hasPrefix("https://")
        guard isSecure || lowered.hasPrefix("http://") else { return false }
        let authority = lowered.dropFirst(isSecure ? 8 : 7).prefix { !"/?\\".contains($0) }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let host = parts.first, Self.isName(host) else { return false }
        let port = parts.count == 2 ? UInt16(parts[1]) : isSecure ? 443 : 80
        guard let port, port > 0 else { return false }
        if isSecure, port == 443, vendors.contains(where: { Self.matches(host, port, $0) }) { return true }
        return (isSecure || Self.isLoopback(host)) && allowed.contains { Self.matches(host, port, $0.lowercased()) }
    }

    private static func matches(_ host: String, _ port: UInt16, _ entry: String) -> Bool {
        if entry.hasPrefix(".") { return host.hasSuffix(entry) && host.utf8.count > entry.utf8.count }
        return entry == host || entry == "\(host):\(port)"
    }

    /// No user information, no escapes, no brackets: readers of URLs disagree about them.
    private static func isName(_ host: String) -> Bool {
        !host.isEmpty && !host.hasPrefix(".")
            && host.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }

    private static func isLoopback(_ host: String) -> Bool {
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return host == "localhost"
            || octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    }
}
