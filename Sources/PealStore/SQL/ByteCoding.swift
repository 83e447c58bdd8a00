internal import PealCore

/// Packs numbers and texts. A number takes seven bits a byte, the low ones first.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// A negative number is written as 0, because counts are never negative.
    mutating func int(_ value: Int) { varint(UInt64(max(0, value))) }

    mutating func text(_ value: String) {
        int(value.utf8.count)
        bytes.append(contentsOf: value.utf8)
    }
}

/// Reads what `ByteWriter` wrote; never past the end.
struct ByteReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    mutating func byte() throws -> UInt8 {
        guard let byte = bytes.popFirst() else { throw PealError.damaged("packed bytes that end too early") }
        return byte
    }

    mutating func varint() throws -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try byte()
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw PealError.damaged("a packed number that is too long")
    }

    /// The bytes that have not been read.
    var rest: [UInt8] { Array(bytes) }

    mutating func int() throws -> Int {
        guard let value = Int(exactly: try varint()) else { throw PealError.damaged("a packed number") }
        return value
    }

    /// How many bytes, or items of at least one byte, follow.
    mutating func count() throws -> Int {
        let count = try int()
        guard count <= bytes.count else { throw PealError.damaged("packed bytes that end too early") }
        return count
    }

    mutating func text() throws -> String {
        let count = try count()
        defer { bytes = bytes.dropFirst(count) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// A sorted list of device keys as the differences between them: about one byte a key where devices are dense.
enum KeyListCoding {
    static func encode(_ keys: [DeviceKey]) -> [UInt8] {
        var writer = ByteWriter()
        var previous: DeviceKey = 0
        for key in keys {
            writer.varint(UInt64(bitPattern: key &- previous))
            previous = key
        }
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> [DeviceKey] {
        var reader = ByteReader(bytes)
        var keys: [DeviceKey] = []
        keys.reserveCapacity(bytes.count)
        var previous: DeviceKey = 0
        while !reader.isAtEnd {
            previous &+= DeviceKey(bitPattern: try reader.varint())
            keys.append(previous)
        }
        return keys
    }
}
