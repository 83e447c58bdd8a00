import NIOCore
import NIOHPACK
import PealCore

@testable import PealProviders

/// A frame as sent over the wire.
struct WireFrame: Hashable {
    let header: HTTP2Frame.Header
    let payload: [UInt8]

    /// Removes every complete frame from the front.
    static func parse(_ buffer: inout ByteBuffer) -> [WireFrame] {
        var frames: [WireFrame] = []
        while let header = HTTP2Frame.Header(peeking: buffer),
            let payload = buffer.getBytes(
                at: buffer.readerIndex + HTTP2Frame.headerBytes, length: header.payloadBytes)
        {
            buffer.moveReaderIndex(forwardBy: HTTP2Frame.headerBytes + header.payloadBytes)
            frames.append(WireFrame(header: header, payload: payload))
        }
        return frames
    }
}

/// Frames as a server writes them.
enum ServerFrame {
    static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeFrameHeader(.init(payloadBytes: payload.count, kind: kind, flags: flags, streamID: stream))
        buffer.writeBytes(payload)
        return Array(buffer.readableBytesView)
    }

    static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    static func settings(_ settings: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(
            HTTP2Frame.Kind.settings,
            settings.flatMap { [UInt8($0.0 >> 8), UInt8(truncatingIfNeeded: $0.0)] + number($0.1) })
    }

    static let settingsAcknowledgement = frame(HTTP2Frame.Kind.settings, flags: 1)

    static func headers(_ stream: UInt32, _ block: [UInt8] = [0x88], ends: Bool = true, endHeaders: Bool = true)
        -> [UInt8]
    {
        frame(HTTP2Frame.Kind.headers, flags: (ends ? 1 : 0) | (endHeaders ? 4 : 0), stream: stream, block)
    }

    /// A header block with a literal status and no indexed fields.
    static func status(_ status: Int, _ fields: [(String, String)] = []) -> [UInt8] {
        var block: [UInt8] = [0x08, 3] + Array(String(status).utf8)
        for (name, value) in fields {
            block += [0x00, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        return block
    }

    static func data(_ stream: UInt32, _ text: String = "", ends: Bool = true) -> [UInt8] {
        frame(HTTP2Frame.Kind.data, flags: ends ? 1 : 0, stream: stream, Array(text.utf8))
    }

    static func reset(_ stream: UInt32, _ code: HTTP2Code) -> [UInt8] {
        frame(HTTP2Frame.Kind.reset, stream: stream, number(code.rawValue))
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(HTTP2Frame.Kind.windowUpdate, stream: stream, number(increment))
    }

    static func goAway(_ last: UInt32, _ code: HTTP2Code = .noError, debug: String = "") -> [UInt8] {
        frame(HTTP2Frame.Kind.goAway, number(last) + number(code.rawValue) + Array(debug.utf8))
    }
}

/// The state machine under the control of a test.
struct StateFixture {
    var state: HTTP2ConnectionState
    var out = ByteBuffer()
    var endings = StreamEndings()
    var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    let notification: Notification
    var authorization = Authorization(value: Array("bearer abc".utf8), version: 1)
    private var input = ByteBuffer()

    init(
        notification: Notification = testNotification(), streamIDMax: UInt32 = HTTP2Frame.streamIDMax,
        settings: [(UInt16, UInt32)]? = [], remarkName: String? = nil
    ) throws {
        self.notification = notification
        state = HTTP2ConnectionState(
            authority: "api.push.apple.com", idName: "apns-id", remarkName: remarkName, streamIDMax: streamIDMax)
        state.start(into: &out)
        out.moveReaderIndex(forwardBy: HTTP2Frame.preface.utf8.count)
        if let settings {
            try receive(ServerFrame.settings(settings))
            _ = frames()
        }
    }

    mutating func receive(_ bytes: [UInt8]...) throws(HTTP2Fault) {
        for part in bytes { input.writeBytes(part) }
        try state.receive(&input, into: &out, endings: &endings)
    }

    /// What was written since the last call.
    mutating func frames() -> [WireFrame] { WireFrame.parse(&out) }

    @discardableResult
    mutating func begin(_ index: Int32 = 0, notification: Notification? = nil, address: [UInt8] = [0xAB, 0xCD])
        -> UInt32
    {
        let template = state.encoder.template(notification ?? self.notification, authorization)
        let before = state.nextStreamID
        address.withUnsafeBytes {
            state.begin(
                template, address: $0, id: (1, 2), ticket: StreamTicket(order: 0, index: index), into: &out)
        }
        return max(before, state.nextStreamID - 2)
    }

    /// Decodes a header block as the peer would.
    mutating func decode(_ frame: WireFrame) throws -> [(String, String)] {
        var buffer = ByteBuffer(bytes: frame.payload)
        return try decoder.decodeHeaders(from: &buffer).map { ($0.name, $0.value) }
    }

    var othersKinds: [StreamEndings.Kind] { endings.others.map(\.kind) }
}
