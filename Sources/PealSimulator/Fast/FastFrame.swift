import NIOCore

/// An HTTP/2 frame in the read buffer (RFC 9113 §4.1).
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
    /// The largest payload that a client may send without other SETTINGS.
    static let payloadBytesMax = 16_384

    let kind: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: UnsafeRawBufferPointer

    /// Whether `flag` is set.
    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// The payload without padding, and in HEADERS without the priority fields; nil when the lengths are invalid.
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

    /// The 32-bit number at `offset` of the payload. The caller has checked the length.
    func word(at offset: Int) -> UInt32 {
        UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

/// Writes the server's frames into one buffer, so that all answers to one read are sent together.
struct FastWriter {
    private(set) var buffer: ByteBuffer
    private static let allocator = ByteBufferAllocator()
    private static let room = 64 << 10

    init() {
        buffer = Self.allocator.buffer(capacity: Self.room)
    }

    /// Returns what was written since the last call.
    mutating func take() -> ByteBuffer {
        let full = buffer
        buffer = Self.allocator.buffer(capacity: Self.room)
        return full
    }

    /// Writes a frame without a payload, or the header of one whose payload follows.
    mutating func head(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32, bytes: Int) {
        buffer.writeInteger(UInt32(truncatingIfNeeded: bytes) << 8 | UInt32(kind))
        buffer.writeInteger(flags)
        buffer.writeInteger(stream)
    }

    /// SETTINGS with these parameters.
    mutating func settings(_ parameters: [(UInt16, UInt32)]) {
        head(FastFrame.Kind.settings, stream: 0, bytes: parameters.count * 6)
        for (name, value) in parameters { buffer.writeMultipleIntegers(name, value) }
    }

    /// WINDOW_UPDATE of a stream, or of the connection.
    mutating func windowUpdate(_ bytes: Int, stream: UInt32 = 0) {
        head(FastFrame.Kind.windowUpdate, stream: stream, bytes: 4)
        buffer.writeInteger(UInt32(truncatingIfNeeded: bytes))
    }

    /// RST_STREAM with the error `code`.
    mutating func reset(_ stream: UInt32, code: UInt32) {
        head(FastFrame.Kind.reset, stream: stream, bytes: 4)
        buffer.writeInteger(code)
    }

    /// The acknowledgement of a PING.
    mutating func pong(_ payload: UnsafeRawBufferPointer) {
        head(FastFrame.Kind.ping, flags: FastFrame.Flag.acknowledged, stream: 0, bytes: payload.count)
        buffer.writeBytes(payload)
    }

    /// GOAWAY with a JSON `reason`.
    mutating func goAway(lastStream: UInt32, code: UInt32, reason: String) {
        let body = Array(APNsReason.json(reason).utf8)
        head(FastFrame.Kind.goAway, stream: 0, bytes: 8 + body.count)
        buffer.writeMultipleIntegers(lastStream, code)
        buffer.writeBytes(body)
    }

    /// DATA.
    mutating func data(_ bytes: ArraySlice<UInt8>, stream: UInt32, isLast: Bool) {
        head(FastFrame.Kind.data, flags: isLast ? FastFrame.Flag.endStream : 0, stream: stream, bytes: bytes.count)
        buffer.writeBytes(bytes)
    }

    /// HEADERS of an answer: status and `apns-id` as literals that do not change the client's table.
    mutating func answer(_ status: Int, apnsID: UnsafeRawBufferPointer, stream: UInt32, isLast: Bool) {
        let flags = FastFrame.Flag.endHeaders | (isLast ? FastFrame.Flag.endStream : 0)
        let statusBytes = status == 200 ? 1 : 5
        head(FastFrame.Kind.headers, flags: flags, stream: stream, bytes: statusBytes + 10 + apnsID.count)
        self.status(status)
        // Literal without indexing with a new name of seven bytes: "apns-id".
        buffer.writeInteger(UInt64(0x00_07_61_70_6E_73_2D_69))
        buffer.writeMultipleIntegers(UInt8(0x64), UInt8(truncatingIfNeeded: apnsID.count))
        buffer.writeBytes(apnsID)
    }

    /// HEADERS of any answer, as literals with names and values of up to 126 bytes.
    mutating func headers(
        _ status: Int, _ fields: [(name: String, value: String)], stream: UInt32, isLast: Bool
    ) {
        let fields = fields.filter { $0.name.utf8.count < 127 && $0.value.utf8.count < 127 }
        let flags = FastFrame.Flag.endHeaders | (isLast ? FastFrame.Flag.endStream : 0)
        let bytes = fields.reduce(status == 200 ? 1 : 5) { $0 + 3 + $1.name.utf8.count + $1.value.utf8.count }
        head(FastFrame.Kind.headers, flags: flags, stream: stream, bytes: bytes)
        self.status(status)
        for field in fields {
            buffer.writeMultipleIntegers(UInt8(0), UInt8(truncatingIfNeeded: field.name.utf8.count))
            buffer.writeString(field.name)
            buffer.writeInteger(UInt8(truncatingIfNeeded: field.value.utf8.count))
            buffer.writeString(field.value)
        }
    }

    /// The head of an answer of FCM with 200: `content-type: application/json`, its name by its slot in the static
    /// table.
    mutating func successOfFCM(stream: UInt32) {
        head(FastFrame.Kind.headers, flags: FastFrame.Flag.endHeaders, stream: stream, bytes: 20)
        buffer.writeMultipleIntegers(UInt8(0x88), UInt8(0x0F), UInt8(0x10), UInt8(16))
        buffer.writeStaticString("application/json")
    }

    private mutating func status(_ status: Int) {
        guard status != 200 else {
            buffer.writeInteger(UInt8(0x88))
            return
        }
        buffer.writeMultipleIntegers(UInt8(0x08), UInt8(3))
        let digits = (UInt8(status / 100 % 10), UInt8(status / 10 % 10), UInt8(status % 10))
        buffer.writeMultipleIntegers(0x30 + digits.0, 0x30 + digits.1, 0x30 + digits.2)
    }
}
