import NIOCore

/// The server's half of one HTTP/2 connection in the fast mode: takes bytes, and leaves answers in `writer`. It does no
/// input or output. It holds clients to the framing of RFC 9113, and to nothing else.
final class FastConnection {
    /// An answer that is to go out later.
    struct Delayed {
        let stream: UInt32
        let fault: Fault
        let apnsID: [UInt8]
    }

    /// An error of the connection (RFC 9113 §7), which ends it.
    enum Failure: UInt32 {
        case protocolError = 1
        case flowControl = 3
        case frameSize = 6
        case compression = 9
    }

    var writer = FastWriter()
    /// Answers for the owner to send when their time has come.
    var delayed: [Delayed] = []
    /// GOAWAY has been said: the owner closes the connection soon, or at once.
    var isEnding = false
    var isAborted = false

    /// Milliseconds since 1970, as of the present read.
    var now: Int64 = 0

    let desk: FastDesk
    let storage: UnsafeMutableRawBufferPointer
    var decoder: FastHeaderDecoder
    var streams = FastStreams()
    var windows = FastWindows()
    var random: SeededRandom
    var lastStream: UInt32 = 0
    /// A header block in pieces, and the flags of its first frame.
    var block: (stream: UInt32, flags: UInt8, bytes: [UInt8])?
    private var hasPreface = false
    private var rest: [UInt8] = []
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    init(desk: FastDesk, seed: UInt64) {
        self.desk = desk
        random = SeededRandom(seed: seed)
        storage = .allocate(
            byteCount: FastHeaderDecoder.storageBytes + FastStreams.places * FastStreams.room, alignment: 8)
        decoder = FastHeaderDecoder(
            storage: UnsafeMutableRawBufferPointer(rebasing: storage[0..<FastHeaderDecoder.storageBytes]))
    }

    deinit {
        storage.deallocate()
    }

    /// The room of the texts of the stream at `place`.
    func texts(_ place: Int) -> UnsafeMutableRawBufferPointer {
        let start = FastHeaderDecoder.storageBytes + place * FastStreams.room
        return UnsafeMutableRawBufferPointer(rebasing: storage[start..<(start + FastStreams.room)])
    }

    /// Takes what was read. Every whole frame is dealt with; what is left waits for more.
    func receive(_ bytes: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing) {
        guard !isEnding else { return }
        if rest.isEmpty {
            let used = parse(bytes, &ledger, &recent)
            rest.append(contentsOf: bytes[used...])
        } else {
            rest.append(contentsOf: bytes)
            let whole = rest
            let used = whole.withUnsafeBytes { parse($0, &ledger, &recent) }
            rest = []
            rest.append(contentsOf: whole[used...])
        }
        windows.refill(&writer)
    }

    private func parse(_ bytes: UnsafeRawBufferPointer, _ ledger: inout Ledger, _ recent: inout RecentRing) -> Int {
        var position = 0
        if !hasPreface {
            guard bytes.count >= Self.preface.count else { return 0 }
            guard bytes.prefix(Self.preface.count).elementsEqual(Self.preface) else {
                isAborted = true
                isEnding = true
                return bytes.count
            }
            hasPreface = true
            position = Self.preface.count
            writer.settings([(3, UInt32(SimulatorLimits.streamsMax)), (4, FastWindows.streamBytes)])
            windows.open(&writer)
        }
        while bytes.count - position >= FastFrame.headerBytes, !isEnding {
            let length = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)) >> 8)
            guard length <= FastFrame.payloadBytesMax else {
                fail(.frameSize)
                break
            }
            let end = position + FastFrame.headerBytes + length
            guard end <= bytes.count else { break }
            let number = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position + 5, as: UInt32.self))
            let frame = FastFrame(
                kind: bytes[position + 3], flags: bytes[position + 4], stream: number & 0x7FFF_FFFF,
                payload: UnsafeRawBufferPointer(rebasing: bytes[(position + FastFrame.headerBytes)..<end]))
            if let failure = take(frame, &ledger, &recent) { fail(failure) }
            position = end
        }
        return isEnding ? bytes.count : position
    }

    /// Says GOAWAY for a broken rule of the protocol.
    func fail(_ failure: Failure) {
        leave(reason: "ProtocolError", code: failure.rawValue, lastStream: lastStream)
    }

    /// Says GOAWAY; nothing that comes later is heard.
    func leave(reason: String, code: UInt32, lastStream: UInt32) {
        guard !isEnding else { return }
        isEnding = true
        writer.goAway(lastStream: lastStream, code: code, reason: reason)
    }
}
