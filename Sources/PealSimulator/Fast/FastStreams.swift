/// The open requests of one connection. A stream's number determines its slot, so finding it takes neither a dictionary
/// nor an allocation, except for a stream whose slot was occupied.
struct FastStreams {
    /// A request whose body is incomplete.
    struct Stream {
        var id: UInt32 = 0
        var device: UInt64 = 0
        var deviceBytes = 0
        var idBytes = 0
        var bodyBytes = 0
        /// The body so far, if it has more than one frame.
        var pieces: [UInt8] = []
    }

    /// The number of slots; more than the streams that SETTINGS allow.
    static let slots = 1_024
    static let deviceRoom = SimulatorLimits.deviceTokenDigits.upperBound
    static let room = deviceRoom + FastHeaderDecoder.idRoom

    var streams = [Stream](repeating: Stream(), count: slots)
    private var displaced: [UInt32: Int] = [:]
    private(set) var count = 0

    /// The slot of the stream `id`; nil when it is not open.
    func find(_ id: UInt32) -> Int? {
        let home = Int(id >> 1) & (Self.slots - 1)
        if streams[home].id == id { return home }
        return displaced.isEmpty ? nil : displaced[id]
    }

    /// Opens the stream `id` and returns its slot; nil when too many are open.
    mutating func open(_ id: UInt32) -> Int? {
        guard count < SimulatorLimits.streamsMax else { return nil }
        let home = Int(id >> 1) & (Self.slots - 1)
        var slot = home
        while streams[slot].id != 0 { slot = (slot + 1) & (Self.slots - 1) }
        if slot != home { displaced[id] = slot }
        streams[slot].id = id
        streams[slot].bodyBytes = 0
        if !streams[slot].pieces.isEmpty { streams[slot].pieces = [] }
        count += 1
        return slot
    }

    /// Closes the stream in `slot`.
    mutating func close(_ slot: Int) {
        if !displaced.isEmpty { displaced[streams[slot].id] = nil }
        streams[slot].id = 0
        count -= 1
    }
}

/// Flow control of a fast connection (RFC 9113 §5.2): the client's credit, and bodies of answers that wait for credit
/// from the client.
struct FastWindows {
    private struct Waiting {
        var body: ArraySlice<UInt8>
        var window: Int
    }

    /// The window of each stream and of the connection.
    static let streamBytes: UInt32 = 1 << 20
    private static let connectionBytes = 16 << 20
    private static let refillBytes = 1 << 20
    private static let windowMax = 0x7FFF_FFFF

    private var consumed = 0
    private var connectionWindow = 65_535
    private var streamWindow = 65_535
    private var waiting: [UInt32: Waiting] = [:]
    /// Credit for streams before their answers; empty for clients with a large initial window.
    private var extra: [UInt32: Int] = [:]

    /// Increases the connection's window from the default.
    mutating func open(_ writer: inout FastWriter) {
        writer.windowUpdate(Self.connectionBytes - 65_535)
    }

    /// Counts `bytes` of DATA, including padding.
    mutating func consume(_ bytes: Int) {
        consumed += bytes
    }

    /// Returns consumed credit when it is worth a frame.
    mutating func refill(_ writer: inout FastWriter) {
        guard consumed >= Self.refillBytes else { return }
        writer.windowUpdate(consumed)
        consumed = 0
    }

    /// Sends as much of `body` on `stream` as the client's window allows; the rest waits.
    mutating func send(_ body: [UInt8], on stream: UInt32, _ writer: inout FastWriter) {
        if body.count <= min(connectionWindow, streamWindow) {
            connectionWindow -= body.count
            if !extra.isEmpty { extra[stream] = nil }
            return writer.data(body[...], stream: stream, isLast: true)
        }
        let window = streamWindow + (extra.removeValue(forKey: stream) ?? 0)
        waiting[stream] = Waiting(body: body[...], window: window)
        advance(stream, &writer)
    }

    /// Takes a WINDOW_UPDATE; false when it overflows the window.
    mutating func update(_ stream: UInt32, by bytes: Int, isOpen: Bool, _ writer: inout FastWriter) -> Bool {
        if stream == 0 {
            connectionWindow += bytes
            guard connectionWindow <= Self.windowMax else { return false }
            for waiting in waiting.keys.sorted() { advance(waiting, &writer) }
        } else if waiting[stream] != nil {
            waiting[stream]?.window += bytes
            advance(stream, &writer)
        } else if isOpen {
            extra[stream, default: 0] += min(bytes, Self.windowMax)
            if extra.count > SimulatorLimits.streamsMax * 2 { extra = [:] }
        }
        return true
    }

    /// Takes SETTINGS_INITIAL_WINDOW_SIZE, which moves the windows of open streams too.
    mutating func setInitial(_ bytes: Int, _ writer: inout FastWriter) {
        let change = bytes - streamWindow
        streamWindow = bytes
        for stream in waiting.keys.sorted() {
            waiting[stream]?.window += change
            advance(stream, &writer)
        }
    }

    /// Drops a stream that was reset.
    mutating func forget(_ stream: UInt32) {
        if !waiting.isEmpty { waiting[stream] = nil }
        if !extra.isEmpty { extra[stream] = nil }
    }

    private mutating func advance(_ stream: UInt32, _ writer: inout FastWriter) {
        guard var entry = waiting[stream] else { return }
        let room = min(connectionWindow, entry.window, entry.body.count)
        guard room > 0 else { return }
        let isLast = room == entry.body.count
        writer.data(entry.body.prefix(room), stream: stream, isLast: isLast)
        connectionWindow -= room
        entry.window -= room
        entry.body = entry.body.dropFirst(room)
        waiting[stream] = isLast ? nil : entry
    }
}
