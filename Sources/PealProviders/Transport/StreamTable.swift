import PealCore

/// The request on a stream, as numbers only, so that a stream costs no reference.
struct StreamTicket: Hashable, Sendable {
    /// Slot in the connection's table of open orders.
    var order: Int32
    /// Position of the device in the order's page.
    var index: Int32
    /// How often the peer has refused the request before.
    var resends: UInt8 = 0
}

/// The open streams of a connection, in a ring by stream number: no hashing and no allocation per request. A stream
/// that stays open for long keeps its slot, and new streams skip ids that map to it.
struct StreamTable {
    /// One stream of the ring.
    struct Slot {
        /// 0 = free.
        var id: UInt32 = 0
        /// HTTP status of the final header block; 0 until it arrives.
        var status: Int16 = 0
        var ticket = StreamTicket(order: 0, index: 0)
        /// Bytes of the answer's body so far; at most `Limits.responseBodyBytesMax`.
        var bodyBytes: Int32 = 0
        /// The bytes that may still be sent on this stream; negative after it lowers its initial window.
        var window = 0
    }

    private var slots: [Slot]
    private let mask: UInt32
    private(set) var openCount = 0

    /// - Parameter capacity: a power of two, at least twice the maximum number of open streams.
    init(capacity: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0)
        slots = Array(repeating: Slot(), count: capacity)
        mask = UInt32(capacity - 1)
    }

    /// The slot of an open stream; nil if the stream is not open.
    @inline(__always)
    func find(_ id: UInt32) -> Int? {
        let slotIndex = Int((id >> 1) & mask)
        return id != 0 && slots[slotIndex].id == id ? slotIndex : nil
    }

    func isFree(_ id: UInt32) -> Bool { slots[Int((id >> 1) & mask)].id == 0 }

    mutating func open(_ id: UInt32, ticket: StreamTicket, window: Int) {
        slots[Int((id >> 1) & mask)] = Slot(id: id, ticket: ticket, window: window)
        openCount += 1
    }

    /// Frees the slot and returns its content.
    @discardableResult
    mutating func close(_ slotIndex: Int) -> Slot {
        let slot = slots[slotIndex]
        slots[slotIndex].id = 0
        openCount -= 1
        return slot
    }

    subscript(slotIndex: Int) -> Slot {
        get { slots[slotIndex] }
        set { slots[slotIndex] = newValue }
    }

    /// The lowest id of an open stream; nil if none is open.
    var oldestOpenID: UInt32? {
        guard openCount > 0 else { return nil }
        return slots.lazy.map(\.id).filter { $0 != 0 }.min()
    }

    /// The slots of all open streams whose id satisfies `condition`.
    func slotIndices(where condition: (UInt32) -> Bool) -> [Int] {
        guard openCount > 0 else { return [] }
        return slots.indices.filter { slots[$0].id != 0 && condition(slots[$0].id) }
    }

    /// Changes every open stream's window by `change` bytes. Returns false if one exceeds the largest legal window.
    mutating func shiftWindows(by change: Int) -> Bool {
        for slotIndex in slots.indices where slots[slotIndex].id != 0 {
            slots[slotIndex].window += change
            if slots[slotIndex].window > HTTP2Frame.windowMax { return false }
        }
        return true
    }
}

/// How requests ended, collected while one read is parsed and handed on together.
struct StreamEndings {
    /// Requests answered with 200 and no remark.
    var accepted: [StreamTicket] = []
    var others: [Ending] = []

    /// The end of a request that is not a plain acceptance.
    struct Ending: Hashable {
        let ticket: StreamTicket
        let kind: Kind
        /// The stream of a response; otherwise 0.
        var streamID: UInt32 = 0
    }

    enum Kind: Hashable {
        case response(ProviderResponse)
        /// The peer proved that it did not process the request.
        case unprocessed
        /// Cut off after the request was written.
        case lost(String)
    }

    var isEmpty: Bool { accepted.isEmpty && others.isEmpty }

    mutating func removeAll() {
        accepted.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
    }
}

/// A response that is not a plain 200: it has another status or a remark.
struct ProviderResponse: Hashable, Sendable {
    let status: Int
    /// At most `Limits.responseBodyBytesMax` bytes; the rest is dropped.
    var body: [UInt8] = []
    var retryAfter: RetryAfter?
    /// The peer's time (RFC 9110 §6.6.1) in a 403, which a wrong local clock can cause; nil if the peer sent none.
    var date: Timestamp?
    /// If the status is 200: the value of `Exchange.remarkName`, printable ASCII without spaces.
    var remark: String?
    /// The version of the request's authorization; 0 if it had none.
    var authorizationVersion = 0
}
