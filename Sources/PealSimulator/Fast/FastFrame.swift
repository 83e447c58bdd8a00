/// One HTTP/2 frame as it lies in the read buffer (RFC 9113 §4.1).
struct FastFrame {
    /// The frame types of RFC 9113 §6.
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let priority: UInt8 = 2
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let pushPromise: UInt8 = 5
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    /// The flags of RFC 9113 §6; END_STREAM and ACK share a bit.
    enum Flag {
        static let endStream: UInt8 = 0x1
        static let acknowledged: UInt8 = 0x1
        static let endHeaders: UInt8 = 0x4
        static let padded: UInt8 = 0x8
        static let priority: UInt8 = 0x20
    }

    static let headerBytes = 9
    /// The largest payload that a client may send, since SETTINGS ask for no larger.
    static let payloadBytesMax = 16_384

    let kind: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: UnsafeRawBufferPointer

    /// Whether `flag` is set.
    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// The payload without padding and, of HEADERS, without the priority fields; nil when their lengths are wrong.
    var content: UnsafeRawBufferPointer? {
        var start = 0
        var padding = 0
        if has(Flag.padded) {
            guard let first = payload.first else { return nil }
            padding = Int(first)
            start = 1
        }
        if kind == Kind.headers && has(Flag.priority) { start += 5 }
        guard start + padding <= payload.count else { return nil }
        return UnsafeRawBufferPointer(rebasing: payload[start..<(payload.count - padding)])
    }

    /// The 32-bit number at `offset` of the payload, which the caller has found long enough.
    func word(at offset: Int) -> UInt32 {
        UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
