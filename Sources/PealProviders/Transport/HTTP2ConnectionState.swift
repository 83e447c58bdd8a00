import NIOCore
import NIOHPACK
import PealCore

/// The client side of one HTTP/2 connection (RFC 9113) as a pure state machine. Receives the peer's bytes and the
/// requests to begin, and returns the bytes to send and how requests ended. It has no socket, clock or thread.
struct HTTP2ConnectionState {
    /// The content of the peer's GOAWAY.
    struct GoAway: Hashable {
        /// Streams with a higher id were not processed.
        var lastStreamID: UInt32
        var code: UInt32
        /// The provider's reason in the debug data, such as `IdleTimeout`; nil if there is none.
        var reason: String?
    }

    /// The rest of a body that exceeded the flow-control windows.
    struct PendingBody {
        let streamID: UInt32
        let bytes: [UInt8]
        var sent: Int
    }

    /// A header block that continues in CONTINUATION frames.
    struct OpenHeaderBlock {
        let streamID: UInt32
        let endsStream: Bool
        var bytes: ByteBuffer
    }

    var peer = PeerSettings()
    /// Whether the peer's SETTINGS have arrived: no request may begin earlier.
    var isSettled = false
    var goAway: GoAway?
    var streams: StreamTable
    var nextStreamID: UInt32 = 1
    /// The largest header block and list that are read. The announced limit is advisory (RFC 9113 §6.5.2): an answer
    /// beyond it is still an answer. A fault of the connection would lose those of all open requests.
    static let headerBytesMax = 4 * Limits.responseHeaderBytesMax
    /// No stream may have a higher id: the pool replaces the connection first.
    let streamIDMax: UInt32
    /// The header field of an acceptance to read; nil for none.
    let remarkName: String?
    var encoder: HeaderEncoder
    var decoder: HPACKDecoder
    var sendWindow = 65_535
    /// The bytes that the peer may still send, and those it has sent since the last WINDOW_UPDATE.
    var receiveWindow = Limits.receiveWindowBytes
    var receivedBytes = 0
    var headerBlock: OpenHeaderBlock?
    /// What has arrived of responses that are not a plain 200, by stream.
    var drafts: [UInt32: ProviderResponse] = [:]
    var pendingBodies: [PendingBody] = []
    /// How many of Peal's PINGs the peer has acknowledged.
    var pongCount = 0
    /// Frames since the last one that advanced a request.
    var quietFrames = 0

    /// - Parameters:
    ///   - authority: the value of `:authority`.
    ///   - idName: the header field that carries each request's id; nil for none.
    ///   - indexesAuthorization: whether the authorization goes into the peer's header table.
    ///   - remarkName: the header field of a 200 to read; nil for none.
    init(
        authority: String, idName: String?, indexesAuthorization: Bool = false, remarkName: String? = nil,
        streamIDMax: UInt32 = HTTP2Frame.streamIDMax
    ) {
        encoder = HeaderEncoder(authority: authority, idName: idName, indexesAuthorization: indexesAuthorization)
        decoder = HPACKDecoder(
            allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096,
            maxHeaderListSize: Self.headerBytesMax)
        self.streamIDMax = streamIDMax
        self.remarkName = remarkName
        streams = StreamTable(capacity: 4096)
    }

    var openCount: Int { streams.openCount }
    var oldestOpenID: UInt32? { streams.oldestOpenID }
    /// Whether streams may still begin, now or when there is room.
    var takesRequests: Bool { goAway == nil && Int(nextStreamID) + Self.streamIDReserve <= Int(streamIDMax) }
    /// Whether stream ids run short, so that the pool should open another connection while this one still works. A
    /// connection that started with few ids does not count, because another one would have as few.
    var isNearEnd: Bool {
        nextStreamID > streamIDMax / 2 && Int(nextStreamID) + 2 * Self.streamIDReserve > Int(streamIDMax)
    }
    /// Ids reserved for runs that have been pulled and for ids that are skipped.
    private static let streamIDReserve = 10_000

    /// Writes the preface, the settings (no push, small header lists) and a large connection window.
    mutating func start(into out: inout ByteBuffer) {
        out.writeString(HTTP2Frame.preface)
        let settings: [(UInt16, UInt32)] = [
            (PeerSettings.Name.enablePush, 0),
            (PeerSettings.Name.headerListBytesMax, UInt32(Limits.responseHeaderBytesMax)),
        ]
        out.writeFrameHeader(.init(payloadBytes: settings.count * 6, kind: HTTP2Frame.Kind.settings))
        for (name, value) in settings {
            out.writeInteger(name)
            out.writeInteger(value)
        }
        let increment = UInt32(Limits.receiveWindowBytes - 65_535)
        out.writeNumberFrame(HTTP2Frame.Kind.windowUpdate, streamID: 0, increment)
    }

    /// Writes a PING; its acknowledgement raises `pongCount`.
    func ping(into out: inout ByteBuffer) {
        out.writeFrameHeader(.init(payloadBytes: 8, kind: HTTP2Frame.Kind.ping))
        out.writeInteger(UInt64(1))
    }

    /// Writes a GOAWAY, the last frame on the connection.
    func writeGoAway(_ code: HTTP2Code, into out: inout ByteBuffer) {
        out.writeFrameHeader(.init(payloadBytes: 8, kind: HTTP2Frame.Kind.goAway))
        out.writeInteger(UInt32(0))
        out.writeInteger(code.rawValue)
    }

    /// Whether a request that began before `id` could not be written to its end, because the peer opens no window.
    func isStarved(before id: UInt32) -> Bool { pendingBodies.contains { $0.streamID < id } }

    /// Gives up every stream opened before `id`, because its answer is overdue. The peer cannot have processed a request
    /// whose body is incomplete.
    mutating func giveUp(before id: UInt32, into out: inout ByteBuffer, endings: inout StreamEndings) {
        for slotIndex in streams.slotIndices(where: { $0 < id }) {
            let streamID = streams[slotIndex].id
            let isIncomplete = pendingBodies.contains { $0.streamID == streamID }
            out.writeNumberFrame(HTTP2Frame.Kind.reset, streamID: streamID, HTTP2Code.cancel.rawValue)
            cutOff(slotIndex, isIncomplete ? .unprocessed : .lost("Timeout"), endings: &endings)
        }
    }

    /// Ends every stream, because the connection is gone.
    mutating func giveUpAll(endings: inout StreamEndings) {
        for slotIndex in streams.slotIndices(where: { _ in true }) {
            cutOff(slotIndex, .lost("ConnectionLost"), endings: &endings)
        }
    }

    /// Closes a stream and drops everything kept for it.
    @discardableResult
    mutating func close(_ slotIndex: Int) -> StreamTable.Slot {
        let slot = streams.close(slotIndex)
        if !drafts.isEmpty { drafts[slot.id] = nil }
        if !pendingBodies.isEmpty { pendingBodies.removeAll { $0.streamID == slot.id } }
        return slot
    }
}

/// The peer's settings (RFC 9113 §6.5.2), initially the protocol's defaults.
struct PeerSettings: Hashable, Sendable {
    var headerTableBytes = 4096
    var streamsMax = Int.max
    var initialWindow = 65_535
    var frameBytesMax = HTTP2Frame.payloadBytesMin

    /// The identifiers of the settings.
    enum Name {
        static let headerTableBytes: UInt16 = 1
        static let enablePush: UInt16 = 2
        static let streamsMax: UInt16 = 3
        static let initialWindow: UInt16 = 4
        static let frameBytesMax: UInt16 = 5
        static let headerListBytesMax: UInt16 = 6
    }

    /// Applies one setting and ignores unknown ones.
    mutating func apply(_ name: UInt16, _ value: UInt32) throws(HTTP2Fault) {
        switch name {
        case Name.headerTableBytes: headerTableBytes = Int(value)
        case Name.enablePush:
            guard value == 0 else { throw HTTP2Fault(.protocolError, "server announced ENABLE_PUSH") }
        case Name.streamsMax: streamsMax = Int(value)
        case Name.initialWindow:
            guard value <= HTTP2Frame.windowMax else {
                throw HTTP2Fault(.flowControlError, "initial window out of range")
            }
            initialWindow = Int(value)
        case Name.frameBytesMax:
            guard (HTTP2Frame.payloadBytesMin...0xFF_FFFF).contains(Int(value)) else {
                throw HTTP2Fault(.protocolError, "frame size out of range")
            }
            frameBytesMax = Int(value)
        default: break
        }
    }
}
