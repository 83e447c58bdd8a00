/// The only source of random numbers: cryptographic in production, seeded in tests.
package protocol Randomness: Sendable {
    func next() -> UInt64
}

extension Randomness {
    package func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let word = next()
            bytes.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) })
        }
        return Array(bytes.prefix(count))
    }

    /// A random UUID (version 4, RFC 9562 §5.4).
    package func identifier<Of>() -> Identifier<Of> {
        Identifier(high: next() & ~0xF000 | 0x4000, low: next() & ~(0b11 << 62) | 0b10 << 62)
    }

    /// A UUID that sorts by time (version 7, RFC 9562 §5.7), so that messages are stored in the order of their
    /// creation.
    package func timeOrderedIdentifier<Of>(at now: Timestamp) -> Identifier<Of> {
        let time = UInt64(bitPattern: now.milliseconds) << 16
        return Identifier(high: time | next() & 0x0FFF | 0x7000, low: next() & ~(0b11 << 62) | 0b10 << 62)
    }

    /// A positive number of 62 random bits.
    package func positiveNumber() -> Int64 { Int64(next() >> 2) + 1 }
}
