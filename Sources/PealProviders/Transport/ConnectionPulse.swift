import NIOCore
import PealCore

/// A connection's sense of time: which requests are overdue, and whether the peer is still there. Told the time once a
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

    mutating func tick(
        uptime: Duration, nextStreamID: UInt32, openCount: Int, hasRoom: Bool, pongCount: Int, isSettled: Bool
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
}
