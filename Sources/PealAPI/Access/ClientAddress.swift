internal import HTTPTypes
package import NIOCore
package import PealCore

/// The client of a request, as limits and logs name it. Clients are equal if limits count them together.
struct ClientAddress: Sendable, Hashable {
    /// The unit in which clients are counted: see `ClientNetwork`.
    let network: String
    /// The whole address.
    let text: String

    /// - Parameter proxies: a client with one of these addresses is a reverse proxy. It appends the address of its own
    ///   client to `X-Forwarded-For`; what precedes it may be forged.
    init(_ remote: SocketAddress?, _ headers: HTTPFields, proxies: [IPAddress]) {
        var address = ClientNetwork.address(of: remote)
        if !proxies.isEmpty {
            var hops = headers[values: Self.forwardedFor].flatMap { $0.split(separator: ",") }
            while let proxy = address, proxies.contains(proxy), let hop = hops.popLast() {
                address = Self.address(of: hop.filter { !$0.isWhitespace }).map(ClientNetwork.unmapped)
            }
        }
        text = address.map { "\($0)" } ?? "unknown"
        network = ClientNetwork.name(of: address, text)
    }

    /// The address in a hop. Some proxies add the port: `192.0.2.1:4711` or `[2001:db8::1]:4711`.
    private static func address(of hop: String) -> IPAddress? {
        if let address = IPAddress(hop) { return address }
        if hop.hasPrefix("["), let end = hop.firstIndex(of: "]") {
            return IPAddress(String(hop[hop.index(after: hop.startIndex)..<end]))
        }
        let parts = hop.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? IPAddress(String(parts[0])) : nil
    }

    init(text: String, network: String) {
        self.text = text
        self.network = network
    }

    static func == (left: ClientAddress, right: ClientAddress) -> Bool { left.network == right.network }

    func hash(into hasher: inout Hasher) { hasher.combine(network) }

    private static let forwardedFor = HTTPField.Name("X-Forwarded-For") ?? .date
}

/// The unit in which clients are counted: an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one
/// customer.
package enum ClientNetwork {
    /// The address of a peer; nil if it has none.
    package static func address(of peer: SocketAddress?) -> IPAddress? {
        // The offsets of `sin_addr` and `sin6_addr`, after the family, the port and, for IPv6, the flow.
        switch peer {
        case .v4: bytes(of: peer, 4..<8).flatMap(IPAddress.init(bytes:))
        case .v6: bytes(of: peer, 8..<24).flatMap(IPAddress.init(bytes:)).map(unmapped)
        case .unixDomainSocket, nil: nil
        }
    }

    private static func bytes(of peer: SocketAddress?, _ range: Range<Int>) -> [UInt8]? {
        peer?.withSockAddr { address, size in
            size < range.upperBound ? nil : Array(UnsafeRawBufferPointer(start: address, count: size)[range])
        }
    }

    package static func name(of address: IPAddress?) -> String {
        name(of: address, address.map { "\($0)" } ?? "unknown")
    }

    /// - Parameter text: the whole address.
    static func name(of address: IPAddress?, _ text: String) -> String {
        guard let address, address.bytes.count == 16, let network = IPAddress(bytes: address.bytes.prefix(8) + zeros)
        else { return text }
        return "\(network)/64"
    }

    /// An IPv4 address that is written as IPv6 (RFC 4291 §2.5.5.2) as IPv4.
    static func unmapped(_ address: IPAddress) -> IPAddress {
        guard address.bytes.starts(with: mapped), let inner = IPAddress(bytes: Array(address.bytes.suffix(4))) else {
            return address
        }
        return inner
    }

    private static let zeros = [UInt8](repeating: 0, count: 8)
    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
}
