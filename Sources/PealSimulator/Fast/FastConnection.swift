import NIOCore

/// The server side of an HTTP/2 connection in the fast mode: takes bytes, and puts answers into `writer`. It does no
/// I/O. It checks only the framing of RFC 9113.
final class FastConnection {
    /// A delayed answer.
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
    /// Delayed answers, which the owner sends.
    var delayed: [Delayed] = []
    /// GOAWAY was sent; the owner closes the connection shortly afterwards, or at once if aborted.
    var isEnding = false
    var isAborted = false

    /// Milliseconds since 1970, at the current read.
    var now: Int64 = 0

    let listener: FastListener
    let storage: UnsafeMutableRawBufferPointer
    var decoder: FastHeaderDecoder
    var streams = FastStreams()
    var windows = FastWindows()
    var random: SeededRandom
    var lastStream: UInt32 = 0
    /// The pieces of an unfinished header block, and the flags of its first frame.
    var block: (stream: UInt32, flags: UInt8, bytes: [UInt8])?
    private var hasPreface = false
    private var rest: [UInt8] = []
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    init(listener: FastListener, seed: UInt64) {
        self.listener = listener
        random = SeededRandom(seed: seed)
        storage = .allocate(
            byteCount: FastHeaderDecoder.storageBytes + FastStreams.slots * FastStreams.room, alignment: 8)
        decoder = FastHeaderDecoder(
            storage: UnsafeMutableRawBufferPointer(rebasing: storage[0..<FastHeaderDecoder.storageBytes]))
    }

    deinit {
        storage.deallocate()
    }

    /// The storage for the strings of the stream in `slot`.
    func texts(_ slot: Int) -> UnsafeMutableRawBufferPointer {
        let start = FastHeaderDecoder.storageBytes + slot * FastStreams.room
        return UnsafeMutableRawBufferPointer(rebasing: storage[start..<(start + FastStreams.room)])
    }

    /// Processes every complete frame in the bytes read; the rest waits for more.
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

    /// Sends GOAWAY for a protocol error.
    func fail(_ failure: Failure) {
        sendGoAway(reason: "ProtocolError", code: failure.rawValue, lastStream: lastStream)
    }

    /// Sends GOAWAY. Later frames are ignored.
    func sendGoAway(reason: String, code: UInt32, lastStream: UInt32) {
        guard !isEnding else { return }
        isEnding = true
        writer.goAway(lastStream: lastStream, code: code, reason: reason)
    }
}

/// The handling of each kind of frame.
extension FastConnection {
    /// Processes one frame. Returns the error, if any.
    func take(_ frame: FastFrame, _ ledger: inout Ledger, _ recent: inout RecentRing) -> Failure? {
        if let block, frame.kind != FastFrame.Kind.continuation || frame.stream != block.stream {
            return .protocolError
        }
        switch frame.kind {
        case FastFrame.Kind.data: return takeData(frame, &ledger, &recent)
        case FastFrame.Kind.headers: return takeHeaders(frame, &ledger, &recent)
        case FastFrame.Kind.continuation: return takeContinuation(frame, &ledger, &recent)
        case FastFrame.Kind.settings: return takeSettings(frame)
        case FastFrame.Kind.windowUpdate: return takeWindowUpdate(frame)
        case FastFrame.Kind.ping:
            guard frame.payload.count == 8 else { return .frameSize }
            if !frame.has(FastFrame.Flag.acknowledged) { writer.pong(frame.payload) }
        case FastFrame.Kind.reset:
            guard frame.payload.count == 4 else { return .frameSize }
            guard frame.stream != 0 else { return .protocolError }
            if let slot = streams.find(frame.stream) { streams.close(slot) }
            windows.forget(frame.stream)
            delayed.removeAll { $0.stream == frame.stream }
        case FastFrame.Kind.pushPromise: return .protocolError
        default: break
        }
        return nil
    }

    private func takeSettings(_ frame: FastFrame) -> Failure? {
        guard frame.stream == 0 else { return .protocolError }
        guard frame.payload.count.isMultiple(of: 6) else { return .frameSize }
        if frame.has(FastFrame.Flag.acknowledged) { return nil }
        for offset in stride(from: 0, to: frame.payload.count, by: 6) {
            // Answers depend on no other setting than SETTINGS_INITIAL_WINDOW_SIZE.
            guard frame.payload[offset] == 0, frame.payload[offset + 1] == 4 else { continue }
            let window = frame.word(at: offset + 2)
            guard window <= 0x7FFF_FFFF else { return .flowControl }
            windows.setInitial(Int(window), &writer)
        }
        writer.head(FastFrame.Kind.settings, flags: FastFrame.Flag.acknowledged, stream: 0, bytes: 0)
        return nil
    }

    private func takeWindowUpdate(_ frame: FastFrame) -> Failure? {
        guard frame.payload.count == 4 else { return .frameSize }
        let bytes = Int(frame.word(at: 0) & 0x7FFF_FFFF)
        guard bytes > 0 else { return .protocolError }
        let isOpen = frame.stream != 0 && streams.find(frame.stream) != nil
        return windows.update(frame.stream, by: bytes, isOpen: isOpen, &writer) ? nil : .flowControl
    }

    private func takeHeaders(
        _ frame: FastFrame, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) -> Failure? {
        guard frame.stream & 1 == 1, let content = frame.content else { return .protocolError }
        guard frame.has(FastFrame.Flag.endHeaders) else {
            block = (frame.stream, frame.flags, Array(content))
            return nil
        }
        return takeBlock(content, stream: frame.stream, flags: frame.flags, &ledger, &recent)
    }

    private func takeContinuation(
        _ frame: FastFrame, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) -> Failure? {
        guard let block else { return .protocolError }
        let bytes = block.bytes + frame.payload
        guard bytes.count <= SimulatorLimits.headerListBytesMax else { return .compression }
        self.block?.bytes = bytes
        guard frame.has(FastFrame.Flag.endHeaders) else { return nil }
        self.block = nil
        return bytes.withUnsafeBytes { whole in
            takeBlock(whole, stream: block.stream, flags: block.flags, &ledger, &recent)
        }
    }

    /// Processes a complete header block: the start of a request, or its trailers.
    private func takeBlock(
        _ block: UnsafeRawBufferPointer, stream: UInt32, flags: UInt8, _ ledger: inout Ledger,
        _ recent: inout RecentRing
    ) -> Failure? {
        guard let fields = decoder.decode(block) else { return .compression }
        let isLast = flags & FastFrame.Flag.endStream != 0
        if let slot = streams.find(stream) {
            if isLast { finish(slot, UnsafeRawBufferPointer(start: nil, count: 0), &ledger, &recent) }
            return nil
        }
        guard stream > lastStream else { return nil }
        lastStream = stream
        guard let slot = streams.open(stream) else {
            writer.reset(stream, code: 7)
            return nil
        }
        note(fields, slot)
        if isLast { finish(slot, UnsafeRawBufferPointer(start: nil, count: 0), &ledger, &recent) }
        return nil
    }

    /// Stores the device of a request: what follows `/3/device/` in the path, or else the whole path.
    private func note(_ fields: FastHeaderDecoder.Fields, _ slot: Int) {
        let path = decoder.path(fields)
        let isDevice = path.count > Self.route.count && path.prefix(Self.route.count).elementsEqual(Self.route)
        let device = UnsafeRawBufferPointer(rebasing: path[(isDevice ? Self.route.count : 0)...])
        let room = texts(slot)
        let deviceBytes = min(device.count, FastStreams.deviceRoom)
        room[0..<deviceBytes].copyBytes(from: device.prefix(deviceBytes))
        let id = decoder.apnsID(fields)
        let idRoom = room[FastStreams.deviceRoom...]
        idRoom.copyBytes(from: id)
        var idBytes = id.count
        if idBytes == 0 {
            let made = random.uuid()
            idRoom.copyBytes(from: made.utf8)
            idBytes = made.utf8.count
        }
        streams.streams[slot].device = Fingerprint.of(device)
        streams.streams[slot].deviceBytes = deviceBytes
        streams.streams[slot].idBytes = idBytes
    }

    private static let route = Array("/3/device/".utf8)

    private func takeData(
        _ frame: FastFrame, _ ledger: inout Ledger, _ recent: inout RecentRing
    ) -> Failure? {
        guard frame.stream != 0, let content = frame.content else { return .protocolError }
        windows.consume(frame.payload.count)
        guard let slot = streams.find(frame.stream) else { return nil }
        streams.streams[slot].bodyBytes += content.count
        let isTooLong = streams.streams[slot].bodyBytes > SimulatorLimits.requestBodyBytesMax
        if !frame.has(FastFrame.Flag.endStream) {
            // A body over the limit is read but not kept.
            if !isTooLong { streams.streams[slot].pieces.append(contentsOf: content) }
            if frame.payload.count > 0 { writer.windowUpdate(frame.payload.count, stream: frame.stream) }
        } else if isTooLong {
            refuseBody(slot, &ledger)
        } else if streams.streams[slot].pieces.isEmpty {
            finish(slot, content, &ledger, &recent)
        } else {
            let body = streams.streams[slot].pieces + content
            body.withUnsafeBytes { finish(slot, $0, &ledger, &recent) }
        }
        return nil
    }
}
