/// Keeps the server from being aimed at its own network: says which Internet addresses a host that a stranger named may
/// stand for. Follows IANA's registries of special-purpose addresses (RFC 6890): what is not globally reachable unicast
/// is refused, also where it hides in an IPv6 address that carries an IPv4 one.
package struct AddressGuard: Sendable {
    private struct Range: Sendable {
        let bytes: [UInt8]
        let bitCount: Int

        /// - Parameter text: `address/bits`.
        init(_ text: String) {
            let parts = text.split(separator: "/")
            bytes = IPAddress(parts[0])?.bytes ?? []
            bitCount = Int(parts[1]) ?? 0
        }

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == bytes.count else { return false }
            let whole = bitCount / 8
            guard address[..<whole] == bytes[..<whole] else { return false }
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (bitCount % 8))
            return bitCount % 8 == 0 || address[whole] & mask == bytes[whole] & mask
        }
    }

    private static let refusedIPv4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    ].map(Range.init)

    /// Within 2000::/3, which is all there is of global unicast: protocol assignments with Teredo and benchmarking, and
    /// documentation.
    private static let refusedIPv6 = ["2001::/23", "2001:db8::/32", "3fff::/20"].map(Range.init)
    private static let globalUnicast = Range("2000::/3")

    /// Ranges whose addresses carry an IPv4 address, and where it begins: mapped (RFC 4291 §2.5.5.2), NAT64's
    /// well-known prefix (RFC 6052), 6to4 (RFC 3056).
    private static let carriers = [
        (Range("::ffff:0:0/96"), 12), (Range("64:ff9b::/96"), 12), (Range("2002::/16"), 2),
    ]

    /// Permitted in spite of all that.
    private let exceptions: Set<IPAddress>

    package init(permitting exceptions: Set<IPAddress> = []) { self.exceptions = exceptions }

    /// Whether a connection to `address` leaves for the public Internet.
    package func permits(_ address: IPAddress) -> Bool {
        exceptions.contains(address) || Self.isPublic(address.bytes)
    }

    /// Whether an address is loopback: 127.0.0.0/8 or ::1.
    /// - Parameter bytes: 4 bytes of IPv4 or 16 of IPv6, in network order.
    package static func isLoopback(_ bytes: [UInt8]) -> Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }

    /// Whether an address is one of the public Internet.
    /// - Parameter bytes: 4 bytes of IPv4 or 16 of IPv6, in network order; any other number is no address.
    package static func isPublic(_ bytes: [UInt8]) -> Bool {
        if bytes.count == 4 { return !refusedIPv4.contains { $0.contains(bytes) } }
        if let (_, start) = carriers.first(where: { $0.0.contains(bytes) }) {
            return isPublic(Array(bytes[start..<start + 4]))
        }
        return globalUnicast.contains(bytes) && !refusedIPv6.contains { $0.contains(bytes) }
    }
}
