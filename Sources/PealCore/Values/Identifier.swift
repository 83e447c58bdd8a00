/// A 16-byte id, written as a lower-case UUID. `Of` only distinguishes the ids of different things.
package struct Identifier<Of>: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads a UUID in either case: 32 hexadecimal digits in groups of 8-4-4-4-12.
    package init?(_ text: some StringProtocol) {
        let characters = Array(text.utf8)
        guard characters.count == 36 else { return nil }
        var digits: [UInt8] = []
        for (position, character) in characters.enumerated() {
            if [8, 13, 18, 23].contains(position) {
                guard character == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = Hex.digit(character) else { return nil }
                digits.append(digit)
            }
        }
        high = digits[..<16].reduce(0) { $0 << 4 | UInt64($1) }
        low = digits[16...].reduce(0) { $0 << 4 | UInt64($1) }
    }

    /// Reads 16 bytes, big-endian; nil for another count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package var bytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
    }
}

extension Identifier: CustomStringConvertible {
    package var description: String {
        let text = Hex.encode(bytes)
        var grouped = ""
        for (position, character) in text.enumerated() {
            if [8, 12, 16, 20].contains(position) { grouped.append("-") }
            grouped.append(character)
        }
        return grouped
    }
}

extension Identifier: Comparable {
    package static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

package typealias AppID = Identifier<App>
package typealias DeviceID = Identifier<Device>
package typealias MessageID = Identifier<Message>
package typealias KeyID = Identifier<APIKey>
package typealias AdminID = Identifier<Admin>

/// The small number of an app inside the store. Hot tables and their indexes contain it instead of 16 bytes.
package typealias AppKey = Int64

/// The number of a device within its app: assigned in order of registration, never reused.
package typealias DeviceKey = Int64

/// A text that is compared byte by byte, as the store does. Swift's own `==` treats two spellings of "é" as equal.
package struct ExactText: Hashable, Comparable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        hasher.combine(UInt8(0xFF))
    }
}
