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
