/// The requests of one connection that have begun and not ended. A stream's place follows from its number, so that
/// finding it takes neither a dictionary nor an allocation; only a stream whose place is taken is looked up.
struct FastStreams {
    /// What is known of a request before its body has ended.
    struct Stream {
        var id: UInt32 = 0
        var device: UInt64 = 0
        var deviceBytes = 0
        var idBytes = 0
        var bodyBytes = 0
        /// The body so far, when it comes in more than one frame.
        var pieces: [UInt8] = []
    }

    /// Places; more than the streams that SETTINGS allow.
    static let places = 1_024
    static let deviceRoom = SimulatorLimits.deviceTokenDigits.upperBound
    static let room = deviceRoom + FastHeaderDecoder.idRoom

    var streams = [Stream](repeating: Stream(), count: places)
    private var displaced: [UInt32: Int] = [:]
    private(set) var count = 0

    /// The place of the open stream `id`; nil when it is not open.
    func find(_ id: UInt32) -> Int? {
        let home = Int(id >> 1) & (Self.places - 1)
        if streams[home].id == id { return home }
        return displaced.isEmpty ? nil : displaced[id]
    }

    /// Opens the stream `id` and gives its place; nil when too many are open.
    mutating func open(_ id: UInt32) -> Int? {
        guard count < SimulatorLimits.streamsMax else { return nil }
        let home = Int(id >> 1) & (Self.places - 1)
        var place = home
        while streams[place].id != 0 { place = (place + 1) & (Self.places - 1) }
        if place != home { displaced[id] = place }
        streams[place].id = id
        streams[place].bodyBytes = 0
        if !streams[place].pieces.isEmpty { streams[place].pieces = [] }
        count += 1
        return place
    }

    /// Forgets the stream at `place`.
    mutating func close(_ place: Int) {
        if !displaced.isEmpty { displaced[streams[place].id] = nil }
        streams[place].id = 0
        count -= 1
    }
}

/// Flow control of a fast connection (RFC 9113 §5.2): room for the client to send, and answers' bodies that wait for
/// room at the client.
struct FastWindows {
    private struct Waiting {
        var body: ArraySlice<UInt8>
        var window: Int
    }

    /// The room of each stream, and of the connection.
    static let streamBytes: UInt32 = 1 << 20
    private static let connectionBytes = 16 << 20
    private static let refillBytes = 1 << 20
    private static let windowMax = 0x7FFF_FFFF

    private var consumed = 0
    private var connectionWindow = 65_535
    private var streamWindow = 65_535
    private var waiting: [UInt32: Waiting] = [:]
    /// Room that a client gave streams before their answers; empty with clients that have room enough at once.
    private var extra: [UInt32: Int] = [:]

    /// Widens the connection's window from the standard.
    mutating func open(_ writer: inout FastWriter) {
        writer.windowUpdate(Self.connectionBytes - 65_535)
    }

    /// Notes `bytes` of DATA, padding included.
    mutating func consume(_ bytes: Int) {
        consumed += bytes
    }

    /// Gives back the room that was used, when it is worth a frame.
    mutating func refill(_ writer: inout FastWriter) {
        guard consumed >= Self.refillBytes else { return }
        writer.windowUpdate(consumed)
        consumed = 0
    }

    /// Sends `body` on `stream` as far as the client has room; the rest waits.
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

    /// Forgets a stream that was reset.
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
