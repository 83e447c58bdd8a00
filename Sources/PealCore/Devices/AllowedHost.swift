/// An entry of a list of hosts: `host`, `host:port`, `.suffix` or `.suffix:port`.
package struct AllowedHost: Sendable, Hashable {
    /// In lower case, without leading and ending dots.
    private let name: String
    /// nil = that of the URI's scheme; of an address and of this machine any.
    private let port: Int?
    private let isSuffix: Bool

    package init(_ entry: String) {
        let parts = entry.lowercased().split(separator: ":", maxSplits: 1)
        var name = String(parts.first ?? "")
        isSuffix = name.hasPrefix(".")
        if isSuffix { name.removeFirst() }
        if name.hasSuffix(".") { name.removeLast() }
        self.name = name
        // What is no port matches nothing.
        port = parts.count == 2 ? Int(parts[1]) ?? -1 : nil
    }

    /// Whether the entry names that very host: only so are addresses and this machine allowed.
    func names(_ uri: EndpointURI) -> Bool { !isSuffix && uri.host == name && hasPort(uri) }

    /// Whether the entry names the host or one that it lies below, on the boundary of a dot.
    func matches(_ uri: EndpointURI) -> Bool {
        if names(uri) { return true }
        guard isSuffix, !name.isEmpty, !uri.isIPAddress, hasPort(uri) else { return false }
        return uri.host == name || uri.host.hasSuffix(".\(name)")
    }

    private func hasPort(_ uri: EndpointURI) -> Bool {
        if let port { return port == uri.port }
        return uri.hasDefaultPort || uri.isIPAddress || uri.isLoopback
    }
}
