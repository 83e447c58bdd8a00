import NIOCore
import PealCore

/// A variant's request on one connection, encoded except for the address and the request's id. Made once per variant
/// and valid until the connection's header table or the authorization changes.
final class RequestTemplate {
    /// `:method`, `:scheme`, `:authority` and the start of a literal `:path`.
    let head: [UInt8]
    let path: Notification.Gapped
    /// The other fields; if there is an id, up to and including the length of its value.
    let tail: [UInt8]
    let endsInID: Bool
    /// The start of a last field whose value is the address as text; empty if there is none.
    let addressField: [UInt8]
    let body: Notification.Gapped
    /// The epoch of the header table that it was encoded for.
    let epoch: Int
    let authorizationVersion: Int

    init(
        head: [UInt8], path: Notification.Gapped, tail: [UInt8], endsInID: Bool, addressField: [UInt8],
        body: Notification.Gapped, epoch: Int, authorizationVersion: Int
    ) {
        self.head = head
        self.path = path
        self.tail = tail
        self.endsInID = endsInID
        self.addressField = addressField
        self.body = body
        self.epoch = epoch
        self.authorizationVersion = authorizationVersion
    }

    func bodyBytes(address: Int) -> Int { body.byteCount(address: address) }
    func blockBytesMax(address: Int) -> Int {
        head.count + HeaderField.lengthBytesMax + path.byteCount(address: address) + tail.count + (endsInID ? 36 : 0)
            + (addressField.isEmpty ? 0 : addressField.count + HeaderField.lengthBytesMax + address)
    }
}

extension Notification.Gapped {
    /// The size in bytes with an address of `address` bytes in the gap.
    func byteCount(address: Int) -> Int {
        switch gap {
        case .none: prefix.count + suffix.count
        case .addressText: prefix.count + suffix.count + address
        case .addressHex: prefix.count + suffix.count + 2 * address
        }
    }
}

/// Writes a request's bytes to memory that has room for all of them.
struct RequestWriter {
    private var cursor: UnsafeMutableRawPointer
    private let start: UnsafeMutableRawPointer

    init(_ start: UnsafeMutableRawPointer) {
        self.start = start
        cursor = start
    }

    var count: Int { cursor - start }

    @inline(__always)
    mutating func write(_ byte: UInt8) {
        cursor.storeBytes(of: byte, as: UInt8.self)
        cursor += 1
    }

    @inline(__always)
    mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            cursor.copyMemory(from: base, byteCount: bytes.count)
        }
        cursor += bytes.count
    }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        cursor.copyMemory(from: base, byteCount: bytes.count)
        cursor += bytes.count
    }

    @inline(__always)
    mutating func writeFrameHeader(_ payloadBytes: Int, kind: UInt8, flags: UInt8, streamID: UInt32) {
        let word =
            UInt64(truncatingIfNeeded: payloadBytes) << 40 | UInt64(kind) << 32 | UInt64(flags) << 24
            | UInt64(streamID >> 8)
        cursor.storeBytes(of: word.bigEndian, as: UInt64.self)
        cursor.storeBytes(of: UInt8(truncatingIfNeeded: streamID), toByteOffset: 8, as: UInt8.self)
        cursor += HTTP2Frame.headerBytes
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

    /// An id as a UUID of 36 bytes.
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
        cursor.storeBytes(of: word.bigEndian, as: Word.self)
        cursor += MemoryLayout<Word>.size
    }

    /// Eight lower-case hexadecimal digits, the first in the top byte. Handles all nibbles at once: each is spread into
    /// its own byte, and those above nine are moved from the digits to the letters.
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

/// Writes the requests of one run in batches, so that values they share are looked up once.
struct RunWriter {
    let run: PoolQueue.Run
    /// The order's number on this connection.
    let number: Int32
    let slot: OrderSlot
    let authorization: Authorization?

    /// Writes from position `start` of the run to its end or until the buffer is large enough to flush. Returns the
    /// next position.
    func write(from start: Int, with state: inout HTTP2ConnectionState, into out: inout ByteBuffer) -> Int {
        let open = run.order
        return open.addresses.withUnsafeBytes { addresses in
            open.addressEnds.withUnsafeBufferPointer { ends in
                open.keys.withUnsafeBufferPointer { keys in
                    open.variants.withUnsafeBufferPointer { variants in
                        write(
                            from: start, Columns(addresses: addresses, ends: ends, keys: keys, variants: variants),
                            with: &state, into: &out)
                    }
                }
            }
        }
    }

    /// The page's arrays as unsafe buffers.
    private struct Columns {
        let addresses: UnsafeRawBufferPointer
        let ends: UnsafeBufferPointer<Int32>
        let keys: UnsafeBufferPointer<DeviceKey>
        let variants: UnsafeBufferPointer<UInt16>
    }

    private func write(
        from start: Int, _ columns: Columns, with state: inout HTTP2ConnectionState, into out: inout ByteBuffer
    ) -> Int {
        let message = run.order.order.slice.message
        var template: (variant: UInt16, value: RequestTemplate)?
        var position = start
        while position < run.count, out.readableBytes < Limits.flushBytes {
            let index = run.indices[position]
            let device = Int(index)
            let variant = columns.variants[device]
            let present: RequestTemplate
            if let template, template.variant == variant {
                present = template.value
            } else {
                present = slot.template(Int(variant), &state.encoder, authorization)
                // A template that fills the table serves a single request.
                template = present.epoch == state.encoder.epoch ? (variant, present) : nil
            }
            let from = device == 0 ? 0 : Int(columns.ends[device - 1])
            let address = UnsafeRawBufferPointer(rebasing: columns.addresses[from..<Int(columns.ends[device])])
            let id = NotificationID.make(
                message: message, inAddresses: slot.isInAddresses, key: columns.keys[device])
            state.begin(
                present, address: address, id: (id.high, id.low),
                ticket: StreamTicket(order: number, index: index, resends: run.resends), into: &out)
            position += 1
        }
        return position
    }
}
