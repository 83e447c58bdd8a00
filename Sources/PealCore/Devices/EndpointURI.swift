/// The http or https URI of a device, parsed strictly. Refuses whatever URI parsers disagree about: user information,
/// escapes in the host, bracketed addresses, fragments, and characters that RFC 3986 does not allow.
package struct EndpointURI: Sendable, Hashable {
    package let isSecure: Bool
    /// In lower case, without a trailing dot.
    package let host: String
    /// The scheme's default if the URI contains none.
    package let port: Int
    /// Path and query as written; empty, or starting with `/` or `?`.
    package let rest: String

    /// nil for anything except `http[s]://host[:port][path][?query]`.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let secure = Self.scheme(bytes) else { return nil }
        isSecure = secure
        let tail = bytes.dropFirst(secure ? 8 : 7)
        let authority = tail.prefix { !"/?#".utf8.contains($0) }
        let rest = tail.dropFirst(authority.count)
        let name = authority.prefix { $0 != UInt8(ascii: ":") }
        guard let host = Self.host(name), rest.allSatisfy(Self.isLegal) else { return nil }
        self.host = host
        self.rest = String(decoding: rest, as: UTF8.self)
        guard authority.count > name.count else {
            port = secure ? 443 : 80
            return
        }
        let digits = authority.dropFirst(name.count + 1)
        guard digits.allSatisfy(\.isASCIIDigit),
            let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
        else { return nil }
        port = Int(number)
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    var hasDefaultPort: Bool { port == (isSecure ? 443 : 80) }
    /// `scheme://host[:port]`, without the scheme's default port (RFC 6454 §6.2).
    package var origin: String {
        "\(isSecure ? "https" : "http")://\(host)" + (hasDefaultPort ? "" : ":\(port)")
    }
    /// The URI with a normalized origin.
    package var text: String { origin + rest }

    /// Whether the host names this machine (RFC 6761 §6.3).
    package var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || isIPAddress && host.hasPrefix("127.")
    }
    /// Whether the host is an IPv4 address in any spelling: resolvers read a numeric last label as one.
    var isIPAddress: Bool {
        let last = host.utf8.split(separator: UInt8(ascii: ".")).last ?? host.utf8[...]
        return last.allSatisfy(\.isASCIIDigit) || last.starts(with: "0x".utf8)
    }

    /// Whether the scheme is https; nil for a scheme other than http and https.
    private static func scheme(_ bytes: some Collection<UInt8>) -> Bool? {
        let lowered = bytes.prefix(8).map(\.lowercasedASCII)
        if lowered.elementsEqual("https://".utf8) { return true }
        return lowered.starts(with: "http://".utf8) ? false : nil
    }

    private static func host(_ name: some Collection<UInt8>) -> String? {
        var bytes = name.map(\.lowercasedASCII)
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isLegal = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
        }
        return isLegal && bytes.count <= 253 ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// Whether RFC 3986 allows the character in path and query.
    private static func isLegal(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._~:/?@!$&'()*+,;=%[]".utf8.contains(byte)
    }
}

/// An entry of a list of hosts: `host`, `host:port`, `.suffix` or `.suffix:port`.
package struct AllowedHost: Sendable, Hashable {
    /// In lower case, without leading and trailing dots.
    private let name: String
    /// nil for the default port of the URI's scheme; an IP address or a loopback host then matches with any port.
    private let port: Int?
    private let isSuffix: Bool

    /// nil for an entry that matches no URI.
    package init?(_ entry: String) {
        isSuffix = entry.hasPrefix(".")
        let host = entry.dropFirst(isSuffix ? 1 : 0)
        guard let uri = EndpointURI("https://\(host)"), uri.rest.isEmpty, !(isSuffix && uri.isIPAddress) else {
            return nil
        }
        name = uri.host
        port = host.contains(":") ? uri.port : nil
    }

    /// Whether the entry names exactly this host. IP addresses and loopback hosts must be named exactly.
    func names(_ uri: EndpointURI) -> Bool { !isSuffix && uri.host == name && hasPort(uri) }

    /// Whether the entry names the host or a parent domain of it.
    package func matches(_ uri: EndpointURI) -> Bool {
        if names(uri) { return true }
        guard isSuffix, !uri.isIPAddress, hasPort(uri) else { return false }
        return uri.host == name || uri.host.hasSuffix(".\(name)")
    }

    private func hasPort(_ uri: EndpointURI) -> Bool {
        if let port { return port == uri.port }
        return uri.hasDefaultPort || uri.isIPAddress || uri.isLoopback
    }
}
