/// Tells addresses of the public internet from all others, so that a URL from outside cannot aim the server at its own
/// network: at loopback, at a neighbour, at a cloud's metadata service. It judges bytes that were resolved, never
/// names: whoever connects must connect to the very address that was judged, or a second look-up could answer
/// otherwise.
///
/// Facts: IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890), multicast (RFC 5771).
package enum AddressGuard {
    /// Whether an address is one of the public internet.
    /// - Parameter bytes: 4 bytes of IPv4 or 16 of IPv6 in network order; any other number is no address.
    package static func isPublic(_ bytes: some Collection<UInt8>) -> Bool {
        let address = Array(bytes)
        switch address.count {
        case 4: return !special4.contains { $0.contains(address) }
        case 16: return isPublic6(address)
        default: return false
        }
    }

    /// Whether an address is loopback: 127.0.0.0/8 or ::1.
    /// - Parameter bytes: As for `isPublic`.
    package static func isLoopback(_ bytes: some Collection<UInt8>) -> Bool {
        let address = Array(bytes)
        if address.count == 4 { return address[0] == 127 }
        return address.count == 16 && address == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// Global unicast is 2000::/3 alone (RFC 4291 §2.4), so that unspecified, loopback, IPv4-compatible and -mapped,
    /// unique local, link- and site-local, multicast and what is not assigned are out without being named. Of the rest
    /// what is no host of its own is out too. An address of NAT64 (RFC 6052 §2.1) stands for an IPv4 one.
    private static func isPublic6(_ address: [UInt8]) -> Bool {
        if nat64.contains(address) { return isPublic(address.suffix(4)) }
        return globalUnicast.contains(address) && !special6.contains { $0.contains(address) }
    }

    /// Addresses that share their first bits.
    private struct Block: Sendable {
        let prefix: [UInt8]
        let bitCount: Int

        init(_ prefix: [UInt8], _ bitCount: Int) {
            self.prefix = prefix
            self.bitCount = bitCount
        }

        /// The prefix may be shorter than its bits: the rest is 0.
        func contains(_ address: [UInt8]) -> Bool {
            for index in 0..<((bitCount + 7) / 8) {
                let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, bitCount - 8 * index))
                let wanted = index < prefix.count ? prefix[index] : 0
                guard address[index] & mask == wanted & mask else { return false }
            }
            return true
        }
    }

    private static let special4: [Block] = [
        Block([0], 8),  // this network, unspecified
        Block([10], 8),  // private
        Block([100, 64], 10),  // carrier-grade NAT
        Block([127], 8),  // loopback
        Block([169, 254], 16),  // link-local, metadata of clouds
        Block([172, 16], 12),  // private
        Block([192, 0, 0], 24),  // protocol assignments
        Block([192, 0, 2], 24),  // documentation
        Block([192, 88, 99], 24),  // relays of 6to4
        Block([192, 168], 16),  // private
        Block([198, 18], 15),  // benchmarks
        Block([198, 51, 100], 24),  // documentation
        Block([203, 0, 113], 24),  // documentation
        Block([224], 4),  // multicast
        Block([240], 4),  // reserved, broadcast
    ]

    private static let globalUnicast = Block([0x20], 3)
    private static let nat64 = Block([0x00, 0x64, 0xFF, 0x9B], 96)
    private static let special6: [Block] = [
        Block([0x20, 0x01], 23),  // protocol assignments: Teredo, benchmarks, ORCHID
        Block([0x20, 0x01, 0x0D, 0xB8], 32),  // documentation
        Block([0x20, 0x02], 16),  // 6to4
        Block([0x3F, 0xFE], 16),  // the former 6bone
        Block([0x3F, 0xFF], 20),  // documentation
    ]
}
