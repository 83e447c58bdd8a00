/// The initial inputs: answers as servers write them.
enum FuzzCorpus {
    static let seeds: [FuzzTarget: [[UInt8]]] = [.frames: streams, .connection: streams, .hpack: blocks]

    /// Whole streams of a server to a client with requests open on 1, 3, 5….
    static let streams: [[UInt8]] = [
        [settings([(3, 100), (4, 65_535)]), settingsAcknowledgement, headers(1), headers(3), headers(5)],
        [headers(1, literal(410), ends: false), data(1, #"{"reason":"Unregistered","timestamp":1}"#)],
        [
            headers(1, [], ends: true, isWhole: false), frame(9, stream: 1, [0x88]), frame(9, stream: 1),
            frame(9, flags: 4, stream: 1, [0x00, 1, 0x61, 1, 0x62]),
        ],
        [
            headers(1, literal(103), ends: false), headers(1, literal(503, ("retry-after", "7")), ends: false),
            data(1, "busy", ends: false), headers(1, [0x00, 1, 0x61, 1, 0x62]),
        ],
        [
            frame(1, flags: 0x2D, stream: 3, [2, 0, 0, 0, 0, 16, 0x88, 0, 0]),
            frame(0, flags: 9, stream: 5, [1, 120, 0]),
        ],
        [settings([(1, 0), (4, 100), (3, 1)]), settings([(1, 4096), (4, 70_000), (5, 100_000), (3, 50)])],
        [windowUpdate(0, 1000), windowUpdate(1, 5), windowUpdate(3, 0x7FFF_0000), windowUpdate(5, 0)],
        [
            windowUpdate(1, 0x7FFE_0000), windowUpdate(3, 0x7FFE_FFFF), settings([(4, 66_000)]),
            settings([(4, 131_000)]),
        ],
        [reset(1, 7), reset(3, 8), headers(5), reset(5, 0), reset(7, 11)],
        [goAway(0x7FFF_FFFF), headers(1), goAway(5, #"{"reason":"Shutdown"}"#), headers(3), headers(5)],
        [frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), frame(6, flags: 1, [0, 0, 0, 0, 0, 0, 0, 1]), headers(1)],
        [frame(2, stream: 9, [0, 0, 0, 0, 1]), frame(0x77, flags: 0xFF, stream: 99, [1, 2, 3]), headers(1)],
        [frame(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x88])],
        [headers(1, [0x48, 3, 0x34, 0x31, 0x38]), headers(3, [0xBE]), headers(5, [0x20, 0x88])],
        [headers(1, ends: false), data(1, String(repeating: "y", count: 5000), ends: false), data(1)],
    ].map { $0.flatMap { $0 } }

    /// Header blocks, each preceded by its length in two bytes.
    static let blocks: [[UInt8]] = [
        [plain, plain + literalField("apns-id", "01234567-89ab-cdef-0123-456789abcdef"), plain],
        [[0x88, 0x40, 1, 0x61, 1, 0x62], [0x88, 0xBE], [0x20, 0x88], [0x3F, 0xE1, 0x1F, 0x88]],
        [literal(410, ("content-type", "application/json")), literal(100), literal(999)],
        [[0x48, 0x82, 0x64, 0x02], [0x88, 0x58, 0x85, 0xAE, 0xC3, 0x77, 0x1A, 0x4B], [0xBE, 0xBF]],
        [plain + [0x0F, 0x2E, 1, 0x61], plain + [0x1F, 0x09, 2, 0x61, 0x62], plain + [0x0F, 0x80, 0x01, 0]],
        // Names by the first dynamic index, with and without an entry.
        [plain + [0x40, 1, 0x61, 1, 0x62], plain + [0x0F, 0x2F, 1, 0x61], plain + [0x0F, 0x30, 1, 0x61]],
        [plain + [0x10, 0x82, 0xFF, 0xFF, 0x7F] + Array(repeating: 0x61, count: 127)],
    ].map { $0.flatMap(HeaderTrial.framed) }

    static let plain: [UInt8] = [0x88]
    static let settingsAcknowledgement = frame(4, flags: 1)

    static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        Frame(kind: kind, flags: flags, stream: stream, payload: payload).bytes
    }

    static func settings(_ settings: [(UInt16, UInt32)]) -> [UInt8] {
        frame(4, settings.flatMap { [UInt8($0.0 >> 8), UInt8(truncatingIfNeeded: $0.0)] + Frame.number($0.1) })
    }

    static func headers(_ stream: UInt32, _ block: [UInt8] = plain, ends: Bool = true, isWhole: Bool = true) -> [UInt8]
    {
        frame(1, flags: (ends ? 1 : 0) | (isWhole ? 4 : 0), stream: stream, block)
    }

    static func data(_ stream: UInt32, _ text: String = "", ends: Bool = true) -> [UInt8] {
        frame(0, flags: ends ? 1 : 0, stream: stream, Array(text.utf8))
    }

    static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] { frame(3, stream: stream, Frame.number(code)) }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(8, stream: stream, Frame.number(increment))
    }

    static func goAway(_ last: UInt32, _ debug: String = "") -> [UInt8] {
        frame(7, Frame.number(last) + Frame.number(0) + Array(debug.utf8))
    }

    static func literal(_ status: Int, _ fields: (String, String)...) -> [UInt8] {
        [0x08, 3] + Array(String(status).utf8) + fields.flatMap(literalField)
    }

    static func literalField(_ name: String, _ value: String) -> [UInt8] {
        [0x00, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }
}

/// A frame as a server writes it: RFC 9113 §4.1.
struct Frame: Hashable, Sendable {
    var kind: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []
    /// The payload length in the header; nil for the actual one.
    var claimedBytes: Int?

    static let headerBytes = 9

    var bytes: [UInt8] {
        let length = claimedBytes ?? payload.count
        return [
            UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8),
            UInt8(truncatingIfNeeded: length), kind, flags,
        ] + Self.number(stream) + payload
    }

    static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// Splits bytes into frames. An incomplete rest becomes a frame whose header claims more bytes than it has.
    static func parse(_ bytes: [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var index = 0
        while bytes.count - index >= headerBytes {
            let length = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
            let stream = bytes[index + 5..<index + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let start = index + headerBytes
            let end = min(start + length, bytes.count)
            frames.append(
                Frame(
                    kind: bytes[index + 3], flags: bytes[index + 4], stream: stream, payload: Array(bytes[start..<end]),
                    claimedBytes: end - start == length ? nil : length))
            index = end
        }
        return frames
    }
}
