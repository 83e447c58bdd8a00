/// A frame as a server writes it: RFC 9113 §4.1.
struct Frame: Hashable, Sendable {
    var kind: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []
    /// What the header says of the payload's length; nil = the truth.
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

    /// Cuts octets into the frames that they hold; what is left at the end becomes one that claims more than it has.
    static func parse(_ bytes: [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        var place = 0
        while bytes.count - place >= headerBytes {
            let length = Int(bytes[place]) << 16 | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2])
            let stream = bytes[place + 5..<place + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let start = place + headerBytes
            let end = min(start + length, bytes.count)
            frames.append(
                Frame(
                    kind: bytes[place + 3], flags: bytes[place + 4], stream: stream, payload: Array(bytes[start..<end]),
                    claimedBytes: end - start == length ? nil : length))
            place = end
        }
        return frames
    }
}
