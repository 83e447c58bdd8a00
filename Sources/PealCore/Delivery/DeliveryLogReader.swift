/// Reads the bytes of a delivery log row from front to back and never beyond.
struct DeliveryLogReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() throws(DeliveryLogError) -> UInt8 {
        guard position < bytes.count else { throw DeliveryLogError("row ends early") }
        defer { position += 1 }
        return bytes[position]
    }

    /// Seven bits a byte, the lowest first; the high bit says that more follow.
    mutating func varint() throws(DeliveryLogError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw DeliveryLogError("number out of range") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    mutating func count(upTo limit: Int) throws(DeliveryLogError) -> Int {
        let value = try varint()
        guard value <= UInt64(limit) else { throw DeliveryLogError("count out of range") }
        return Int(value)
    }

    mutating func slice(_ length: Int) throws(DeliveryLogError) -> ArraySlice<UInt8> {
        guard length <= bytes.count - position else { throw DeliveryLogError("row ends early") }
        defer { position += length }
        return bytes[position..<position + length]
    }

    mutating func text(_ length: Int) throws(DeliveryLogError) -> String {
        String(decoding: try slice(length), as: UTF8.self)
    }
}
