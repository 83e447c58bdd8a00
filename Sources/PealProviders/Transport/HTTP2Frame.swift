import NIOCore

/// Frame kinds, flags and the nine-byte frame header (RFC 9113 §4.1, §6).
enum HTTP2Frame {
    static let headerBytes = 9
    static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The payload size that every endpoint must accept, and the limit that Peal keeps as a receiver.
    static let payloadBytesMin = 16_384
    static let windowMax = 0x7FFF_FFFF
    static let streamIDMax: UInt32 = 0x7FFF_FFFF

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

    enum Flag {
        static let endStream: UInt8 = 0x1
        static let acknowledgement: UInt8 = 0x1
        static let endHeaders: UInt8 = 0x4
        static let padded: UInt8 = 0x8
        static let priority: UInt8 = 0x20
    }

    /// The nine bytes before a payload.
    struct Header: Hashable {
        let payloadBytes: Int
        let kind: UInt8
        let flags: UInt8
        /// Without the reserved bit.
        let streamID: UInt32

        init(payloadBytes: Int, kind: UInt8, flags: UInt8 = 0, streamID: UInt32 = 0) {
            self.payloadBytes = payloadBytes
            self.kind = kind
            self.flags = flags
            self.streamID = streamID
        }

        /// Reads the header at the reader index without moving it; nil if it is incomplete.
        init?(peeking buffer: ByteBuffer) {
            guard let word = buffer.getInteger(at: buffer.readerIndex, as: UInt64.self),
                let last = buffer.getInteger(at: buffer.readerIndex + 8, as: UInt8.self)
            else { return nil }
            payloadBytes = Int(word >> 40)
            kind = UInt8(truncatingIfNeeded: word >> 32)
            flags = UInt8(truncatingIfNeeded: word >> 24)
            streamID = (UInt32(truncatingIfNeeded: word) << 8 | UInt32(last)) & HTTP2Frame.streamIDMax
        }

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }
}

extension ByteBuffer {
    mutating func writeFrameHeader(_ header: HTTP2Frame.Header) {
        let word =
            UInt64(truncatingIfNeeded: header.payloadBytes) << 40 | UInt64(header.kind) << 32
            | UInt64(header.flags) << 24 | UInt64(header.streamID >> 8)
        writeInteger(word)
        writeInteger(UInt8(truncatingIfNeeded: header.streamID))
    }

    /// Writes a frame that holds one 32-bit number: RST_STREAM or WINDOW_UPDATE.
    mutating func writeNumberFrame(_ kind: UInt8, streamID: UInt32, _ number: UInt32) {
        writeFrameHeader(.init(payloadBytes: 4, kind: kind, streamID: streamID))
        writeInteger(number)
    }
}

/// Error codes (RFC 9113 §7).
enum HTTP2Code: UInt32, Sendable {
    case noError = 0
    case protocolError
    case internalError
    case flowControlError
    case settingsTimeout
    case streamClosed
    case frameSizeError
    case refusedStream
    case cancel
    case compressionError
    case connectError
    case enhanceYourCalm
    case inadequateSecurity
    case http11Required
}

/// A protocol violation by the peer. It ends this connection, with a GOAWAY that carries the code, and no other.
struct HTTP2Fault: Error, Hashable {
    let code: HTTP2Code
    /// For the log; never contains the peer's bytes.
    let reason: String

    init(_ code: HTTP2Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
