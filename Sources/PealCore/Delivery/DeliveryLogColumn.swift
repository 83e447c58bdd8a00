/// Writes and reads a column of numbers in the smallest of three forms: runs of equal values, a fixed number of bits
/// for each value, or a varint for each value.
enum DeliveryLogColumn {
    private enum Form: UInt8 {
        case runs, packed, varints
    }

    /// Wider values use one of the other forms, so that packing works within one word.
    private static let packedBitsMax = 32

    static func append(_ values: [UInt64], to bytes: inout [UInt8]) {
        var runBytes = 0
        var varintBytes = 0
        var largest: UInt64 = 0
        forEachRun(values) { value, count in
            let size = varintSize(value)
            runBytes += size + varintSize(UInt64(count))
            varintBytes += size * count
            largest = max(largest, value)
        }
        let bits = 64 - largest.leadingZeroBitCount
        let packedBytes = bits > packedBitsMax ? Int.max : 1 + (values.count * bits + 7) / 8
        if runBytes <= min(packedBytes, varintBytes) {
            bytes.append(Form.runs.rawValue)
            forEachRun(values) { value, count in
                appendVarint(value, to: &bytes)
                appendVarint(UInt64(count), to: &bytes)
            }
        } else if packedBytes <= varintBytes {
            bytes.append(Form.packed.rawValue)
            bytes.append(UInt8(bits))
            pack(values, bits: UInt64(bits), into: &bytes)
        } else {
            bytes.append(Form.varints.rawValue)
            for value in values { appendVarint(value, to: &bytes) }
        }
    }

    /// Reads `count` values.
    static func read(
        _ count: Int, from reader: inout DeliveryLogReader
    ) throws(DeliveryLogError) -> [UInt64] {
        guard let form = Form(rawValue: try reader.byte()) else { throw DeliveryLogError("unknown column form") }
        var values: [UInt64] = []
        values.reserveCapacity(count)
        switch form {
        case .runs:
            while values.count < count {
                let value = try reader.varint()
                let length = try reader.count(upTo: count - values.count)
                guard length > 0 else { throw DeliveryLogError("empty run") }
                values.append(contentsOf: repeatElement(value, count: length))
            }
        case .packed:
            let bits = Int(try reader.byte())
            guard bits <= packedBitsMax else { throw DeliveryLogError("column too wide") }
            unpack(try reader.slice((count * bits + 7) / 8), bits: bits, count: count, into: &values)
        case .varints:
            for _ in 0..<count { values.append(try reader.varint()) }
        }
        return values
    }

    static func appendVarint(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private static func varintSize(_ value: UInt64) -> Int {
        max(1, (64 - value.leadingZeroBitCount + 6) / 7)
    }

    private static func forEachRun(_ values: [UInt64], _ body: (UInt64, Int) -> Void) {
        var start = 0
        while start < values.count {
            var end = start + 1
            while end < values.count, values[end] == values[start] { end += 1 }
            body(values[start], end - start)
            start = end
        }
    }

    /// Packs the lowest bits first.
    private static func pack(_ values: [UInt64], bits: UInt64, into bytes: inout [UInt8]) {
        var word: UInt64 = 0
        var filled: UInt64 = 0
        for value in values {
            word |= value << filled
            filled += bits
            while filled >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
                filled -= 8
            }
        }
        if filled > 0 { bytes.append(UInt8(truncatingIfNeeded: word)) }
    }

    private static func unpack(_ packed: ArraySlice<UInt8>, bits: Int, count: Int, into values: inout [UInt64]) {
        var word: UInt64 = 0
        var filled = 0
        var position = packed.startIndex
        let mask: UInt64 = (1 << UInt64(bits)) - 1
        for _ in 0..<count {
            while filled < bits {
                word |= UInt64(packed[position]) << UInt64(filled)
                position += 1
                filled += 8
            }
            values.append(word & mask)
            word >>= UInt64(bits)
            filled -= bits
        }
    }
}

/// Reads the bytes of a row of the delivery log from front to back, and never beyond the end.
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

    /// Seven bits in each byte, the lowest first. The high bit is set if more bytes follow.
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
