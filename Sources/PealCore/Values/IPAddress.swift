/// An Internet address: 4 bytes (IPv4) or 16 (IPv6), in network order.
package struct IPAddress: Hashable, Sendable {
    package let bytes: [UInt8]

    /// nil for any other number of bytes than 4 and 16.
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
            let isPlain = part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
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
    /// As a resolver reads it; IPv6 in eight groups.
    package var description: String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2)
            .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}
