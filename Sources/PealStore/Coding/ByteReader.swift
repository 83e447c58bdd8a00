internal import PealCore

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

    mutating func int() throws -> Int {
        guard let value = Int(exactly: try varint()) else { throw PealError.damaged("a packed number") }
        return value
    }

    mutating func text() throws -> String {
        let count = try int()
        guard count <= bytes.count else { throw PealError.damaged("packed bytes that end too early") }
        defer { bytes = bytes.dropFirst(count) }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
