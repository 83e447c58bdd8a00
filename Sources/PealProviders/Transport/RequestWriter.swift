import PealCore

/// Writes a request's octets at a place that has room for all of them.
struct RequestWriter {
    private var place: UnsafeMutableRawPointer
    private let start: UnsafeMutableRawPointer

    init(_ start: UnsafeMutableRawPointer) {
        self.start = start
        place = start
    }

    var count: Int { place - start }

    @inline(__always)
    mutating func write(_ byte: UInt8) {
        place.storeBytes(of: byte, as: UInt8.self)
        place += 1
    }

    @inline(__always)
    mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            place.copyMemory(from: base, byteCount: bytes.count)
        }
        place += bytes.count
    }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        place.copyMemory(from: base, byteCount: bytes.count)
        place += bytes.count
    }

    @inline(__always)
    mutating func writeFrameHeader(_ payloadBytes: Int, kind: UInt8, flags: UInt8, streamID: UInt32) {
        let word =
            UInt64(truncatingIfNeeded: payloadBytes) << 40 | UInt64(kind) << 32 | UInt64(flags) << 24
            | UInt64(streamID >> 8)
        place.storeBytes(of: word.bigEndian, as: UInt64.self)
        place.storeBytes(of: UInt8(truncatingIfNeeded: streamID), toByteOffset: 8, as: UInt8.self)
        place += HTTP2Frame.headerBytes
    }

    /// The length of an HPACK string (RFC 7541 §5.2).
    @inline(__always)
    mutating func writeStringLength(_ length: Int) {
        guard length >= 127 else { return write(UInt8(truncatingIfNeeded: length)) }
        write(127)
        var rest = length - 127
        while rest >= 128 {
            write(UInt8(truncatingIfNeeded: rest & 127) | 128)
            rest >>= 7
        }
        write(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    mutating func write(_ gapped: Notification.Gapped, address: UnsafeRawBufferPointer) {
        write(gapped.prefix)
        switch gapped.gap {
        case .none: break
        case .addressText: write(address)
        case .addressHex: writeHex(address)
        }
        write(gapped.suffix)
    }

    @inline(__always)
    mutating func writeHex(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + 4 <= bytes.count {
            let word = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            store(Self.digits(word))
            offset += 4
        }
        while offset < bytes.count {
            let pair = Self.digits(UInt32(bytes[offset]) << 24)
            write(UInt8(truncatingIfNeeded: pair >> 56))
            write(UInt8(truncatingIfNeeded: pair >> 48))
            offset += 1
        }
    }

    /// An id as a UUID, 36 octets.
    @inline(__always)
    mutating func write(high: UInt64, low: UInt64) {
        let dash = UInt8(ascii: "-")
        let middle = Self.digits(UInt32(truncatingIfNeeded: high))
        let next = Self.digits(UInt32(truncatingIfNeeded: low >> 32))
        store(Self.digits(UInt32(truncatingIfNeeded: high >> 32)))
        write(dash)
        store(UInt32(truncatingIfNeeded: middle >> 32))
        write(dash)
        store(UInt32(truncatingIfNeeded: middle))
        write(dash)
        store(UInt32(truncatingIfNeeded: next >> 32))
        write(dash)
        store(UInt32(truncatingIfNeeded: next))
        store(Self.digits(UInt32(truncatingIfNeeded: low)))
    }

    @inline(__always)
    private mutating func store<Word: FixedWidthInteger & BitwiseCopyable>(_ word: Word) {
        place.storeBytes(of: word.bigEndian, as: Word.self)
        place += MemoryLayout<Word>.size
    }

    /// Eight lower-case hexadecimal digits, the first in the top octet. All nibbles at once: each is spread into an
    /// octet of its own, and those above nine are lifted from the digits to the letters.
    @inline(__always)
    static func digits(_ word: UInt32) -> UInt64 {
        var nibbles = UInt64(word)
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }
}
