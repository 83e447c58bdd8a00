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
