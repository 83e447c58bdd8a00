/// An Internet address: 4 bytes (IPv4) or 16 (IPv6), in network order.
package struct IPAddress: Hashable, Sendable {
    package let bytes: [UInt8]

    /// nil unless there are 4 or 16 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads `192.0.2.1` (four decimal numbers, nothing shorter, no leading zeros) and every form of RFC 4291 §2.2,
    /// without brackets and zones.
    package init?(_ text: some StringProtocol) {
        guard let bytes = text.contains(":") ? Self.groups(text) : Self.quad(text) else { return nil }
        self.bytes = bytes
    }

    private static func quad(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            let isPlain = part.utf8.allSatisfy(\.isASCIIDigit)
            guard isPlain, part == "0" || !part.hasPrefix("0"), let byte = UInt8(part) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func groups(_ text: some StringProtocol) -> [UInt8]? {
        let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        guard let head = sequence(halves[0]) else { return nil }
        guard halves.count == 2 else { return head.count == 16 ? head : nil }
        guard let tail = sequence(halves[1]), head.count + tail.count <= 14 else { return nil }
        return head + Array(repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    /// Groups of up to four hexadecimal digits; the last two may be written as IPv4.
    private static func sequence(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (position, part) in parts.enumerated() {
            if position == parts.count - 1, part.contains(".") {
                guard let quad = quad(part) else { return nil }
                return bytes + quad
            }
            guard (1...4).contains(part.utf8.count), !part.hasPrefix("+"), let group = UInt16(part, radix: 16) else {
                return nil
            }
            bytes += [UInt8(group >> 8), UInt8(truncatingIfNeeded: group)]
        }
        return bytes
    }
}

extension IPAddress: CustomStringConvertible {
    /// The address as a resolver reads it; IPv6 as eight groups.
    package var description: String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2)
            .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}

/// Protects the server's own network: decides to which Internet addresses an untrusted host may resolve. Follows IANA's
/// registries of special-purpose addresses (RFC 6890): addresses that are not globally reachable unicast are refused,
/// even if an IPv6 address embeds such an IPv4 address.
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

    /// Within 2000::/3, which is all of global unicast: protocol assignments (with Teredo and benchmarking) and
    /// documentation.
    private static let refusedIPv6 = ["2001::/23", "2001:db8::/32", "3fff::/20"].map(Range.init)
    private static let globalUnicast = Range("2000::/3")

    /// Ranges whose addresses embed an IPv4 address, and where it begins: mapped (RFC 4291 §2.5.5.2), NAT64's
    /// well-known prefix (RFC 6052), 6to4 (RFC 3056).
    private static let carriers = [
        (Range("::ffff:0:0/96"), 12), (Range("64:ff9b::/96"), 12), (Range("2002::/16"), 2),
    ]

    /// Addresses that are permitted although they are not public.
    private let exceptions: Set<IPAddress>

    package init(permitting exceptions: Set<IPAddress> = []) { self.exceptions = exceptions }

    /// Whether Peal may connect to `address`: it is public or an exception.
    package func permits(_ address: IPAddress) -> Bool {
        exceptions.contains(address) || Self.isPublic(address.bytes)
    }

    /// Whether an address is loopback: 127.0.0.0/8 or ::1.
    /// - Parameter bytes: 4 bytes of IPv4 or 16 of IPv6, in network order.
    package static func isLoopback(_ bytes: [UInt8]) -> Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes == Array(repeating: 0, count: 15) + [1]
    }

    /// Whether an address is on the public Internet.
    /// - Parameter bytes: 4 bytes of IPv4 or 16 of IPv6, in network order; any other number is not an address.
    package static func isPublic(_ bytes: [UInt8]) -> Bool {
        if bytes.count == 4 { return !refusedIPv4.contains { $0.contains(bytes) } }
        if let (_, start) = carriers.first(where: { $0.0.contains(bytes) }) {
            return isPublic(Array(bytes[start..<start + 4]))
        }
        return globalUnicast.contains(bytes) && !refusedIPv6.contains { $0.contains(bytes) }
    }
}
