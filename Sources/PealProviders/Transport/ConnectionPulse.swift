import NIOCore
import PealCore

/// A connection's sense of time: which requests are overdue, and whether the peer is still there. Given the time once a
/// second, so it costs nothing per request.
struct ConnectionPulse {
    /// What is to be done.
    struct Orders: Hashable {
        /// Streams begun before this one are overdue.
        var giveUpBefore: UInt32?
        var sendsPing = false
        /// The peer is gone without a word.
        var isStalled = false
        /// Nothing was asked for long.
        var isIdle = false
        /// Nothing may begin for long, although nothing is open: a limit of 0 is for short durations (RFC 9113 §6.5.2).
        var isShut = false
    }

    /// Set by each read, taken by each tick.
    var hasRead = false
    /// The most that the peer ever let us send at once.
    var largestWindow = 65_535
    /// How many requests may be open while the peer is slow: what it answers in two seconds, so that none waits until
    /// it is overdue and would have to be sent twice. nil while it keeps up.
    private(set) var openMax: Int?
    private var openBefore = 0
    private let startedAt: Duration
    private var readAt: Duration
    private var usedAt: Duration
    private var roomAt: Duration
    private var pingedAt: Duration?
    private var pongCount = 0
    /// Which stream was next at which time.
    private var marks = CircularBuffer<(at: Duration, streamID: UInt32)>()

    init(uptime: Duration) {
        startedAt = uptime
        readAt = uptime
        usedAt = uptime
        roomAt = uptime
    }

    /// - Parameter oldestOpenID: of the stream that is open longest; nil when none is.
    mutating func tick(
        uptime: Duration, nextStreamID: UInt32, openCount: Int, oldestOpenID: UInt32?, hasRoom: Bool, pongCount: Int,
        isSettled: Bool
    ) -> Orders {
        var orders = Orders()
        if hasRead { readAt = uptime }
        hasRead = false
        if openCount > 0 { usedAt = uptime }
        if openCount > 0 || hasRoom { roomAt = uptime }
        if pongCount != self.pongCount {
            self.pongCount = pongCount
            pingedAt = nil
        }
        follow(uptime: uptime, nextStreamID: nextStreamID, openCount: openCount, oldestOpenID: oldestOpenID)
        marks.append((uptime, nextStreamID))
        while let mark = marks.first, uptime - mark.at >= .seconds(Limits.requestTimeoutSeconds) {
            orders.giveUpBefore = mark.streamID
            marks.removeFirst()
        }
        guard isSettled else {
            orders.isStalled = uptime - startedAt >= .seconds(Limits.connectTimeoutSeconds)
            return orders
        }
        let stall = Duration.seconds(Limits.stallSeconds)
        if let pingedAt {
            orders.isStalled = uptime - pingedAt >= stall && uptime - readAt >= stall
        } else {
            let patience = openCount > 0 ? stall : .seconds(Limits.idlePingSeconds)
            orders.sendsPing = uptime - readAt >= patience
            if orders.sendsPing { pingedAt = uptime }
        }
        orders.isShut = uptime - roomAt >= .seconds(Limits.connectTimeoutSeconds)
        orders.isIdle = openCount == 0 && uptime - usedAt >= .seconds(Limits.idleConnectionSeconds)
        return orders
    }

    /// Follows what the peer keeps up with (Little's law: open requests = rate × time of each).
    private mutating func follow(uptime: Duration, nextStreamID: UInt32, openCount: Int, oldestOpenID: UInt32?) {
        defer { openBefore = openCount }
        let slow = Duration.seconds(Limits.slowAnswerSeconds)
        let isSlow = oldestOpenID.map { id in marks.contains { uptime - $0.at >= slow && $0.streamID > id } } ?? false
        guard isSlow else {
            // Back by doubling, for what was slow a moment ago is not yet to be trusted with everything.
            openMax = openMax.map { $0 * 2 }.flatMap { $0 < Limits.streamsPerConnectionMax ? $0 : nil }
            return
        }
        let begun = marks.last.map { Int(nextStreamID &- $0.streamID) / 2 } ?? 0
        let answered = max(0, begun + openBefore - openCount)
        openMax = max(Limits.slowStreamsMin, answered * Int(Limits.slowAnswerSeconds))
    }
}
