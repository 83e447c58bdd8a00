/// A push network's address: where connections go and what requests name as their authority.
struct Endpoint: Hashable, Sendable {
    let host: String
    let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `https://host[:port]`, also with an IPv6 address in brackets; nil for anything else, a path included.
    init?(_ url: String) {
        let prefix = "https://"
        guard url.lowercased().hasPrefix(prefix) else { return nil }
        var rest = url.dropFirst(prefix.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, !rest.contains(where: { "/?#@\\ ".contains($0) }) else { return nil }
        if rest.hasPrefix("["), let close = rest.firstIndex(of: "]") {
            host = String(rest[rest.index(after: rest.startIndex)..<close])
            rest = rest[rest.index(after: close)...]
        } else {
            host = String(rest.prefix { $0 != ":" })
            rest = rest.dropFirst(host.count)
        }
        if rest.isEmpty {
            port = 443
        } else {
            guard rest.hasPrefix(":"), let number = UInt16(rest.dropFirst()), number > 0 else { return nil }
            port = Int(number)
        }
        guard !host.isEmpty else { return nil }
    }

    /// As `:authority` has it: the port only where it is not that of https.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    /// Whether the host is an address, which TLS does not take as a server name (RFC 6066 §3).
    var isAddress: Bool {
        host.contains(":") || host.split(separator: ".").allSatisfy { UInt8($0) != nil }
    }
}
