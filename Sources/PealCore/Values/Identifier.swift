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
        // Other modules call this unspecialized, where iterating over bytes is slow.
        let halves =
            text.utf8.withContiguousStorageIfAvailable(identifierHalves)
            ?? Array(text.utf8).withUnsafeBufferPointer(identifierHalves)
        guard let halves else { return nil }
        self.init(high: halves.high, low: halves.low)
    }

    /// Reads 16 bytes, big-endian; nil for another count.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Reads 16 bytes, big-endian; nil for another count.
    package init?(bytes: some Collection<UInt8>) {
        guard let id = Array(bytes).withUnsafeBytes({ Self(bytes: $0) }) else { return nil }
        self = id
    }

    /// 16 bytes, big-endian.
    package var bytes: [UInt8] { bigEndianBytes(high, low) }

    private func byte(_ position: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (position < 8 ? high : low) >> (56 - 8 * UInt64(position & 7)))
    }
}

/// Not a method of `Identifier`: generic code that is not specialized looks up the array's type with every call.
private func bigEndianBytes(_ high: UInt64, _ low: UInt64) -> [UInt8] {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
}

private func identifierHalves(_ text: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard text.count == 36 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for (position, character) in text.enumerated() {
        if position == 8 || position == 13 || position == 18 || position == 23 {
            guard character == UInt8(ascii: "-") else { return nil }
            continue
        }
        guard let digit = Hex.digit(character) else { return nil }
        if position < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
    }
    return (high, low)
}

extension Identifier: CustomStringConvertible {
    package var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var end = 0
            for position in 0..<16 {
                if position == 4 || position == 6 || position == 8 || position == 10 {
                    text[end] = UInt8(ascii: "-")
                    end += 1
                }
                let byte = byte(position)
                text[end] = Hex.character(byte >> 4)
                text[end + 1] = Hex.character(byte & 15)
                end += 2
            }
            return end
        }
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

    package static func == (left: Self, right: Self) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        let isSame = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { left.elementsEqual($0) }
        }
        // Only strings that another framework made are not contiguous.
        return (isSame ?? nil) ?? left.text.utf8.elementsEqual(right.text.utf8)
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8(0xFF))
    }
}

extension Sequence<String> {
    /// The texts that are distinct for the store, in the order of their bytes.
    package var distinctTexts: [String] { Set(map(ExactText.init)).sorted().map(\.text) }
}
