import NIOCore
import PealCore

/// A connection's timers: which requests are overdue, and whether the peer is still alive. Receives the time once per
/// tick, so it costs nothing per request, and returns what the connection must do.
struct ConnectionPulse {
    /// What the connection must do.
    struct Orders: Hashable {
        /// Streams begun before this one are overdue.
        var giveUpBefore: UInt32?
        /// Nothing has been answered since the overdue streams began.
        var isMute = false
        var sendsPing = false
        /// The peer has gone silent.
        var isStalled = false
        /// No request was open for `Limits.idleConnectionSeconds`.
        var isIdle = false
        /// No request could begin for a long time although none is open. A stream limit of 0 is meant for short
        /// durations (RFC 9113 §6.5.2).
        var isShut = false
    }

    /// Set by each read, cleared by each tick.
    var hasRead = false
    /// Set by each answer, cleared by each tick.
    var hasAnswer = false
    /// The largest connection window in bytes that the peer has granted.
    var largestWindow = 65_535
    /// The maximum number of open requests while the peer is slow: what it answers in `Limits.slowAnswerSeconds`, so
    /// that no request waits until it is overdue and must be resent. nil while the peer keeps up.
    private(set) var openMax: Int?
    private var openBefore = 0
    let startedAt: Duration
    private var readAt: Duration
    private var answeredAt: Duration
    private var usedAt: Duration
    private var roomAt: Duration
    private var pingedAt: Duration?
    private var pongCount = 0
    /// The next stream id at each tick.
    private var marks = CircularBuffer<(at: Duration, streamID: UInt32)>()

    init(uptime: Duration) {
        startedAt = uptime
        readAt = uptime
        answeredAt = uptime
        usedAt = uptime
        roomAt = uptime
    }

    /// - Parameter oldestOpenID: the lowest open stream id; nil if no stream is open.
    mutating func tick(
        uptime: Duration, nextStreamID: UInt32, openCount: Int, oldestOpenID: UInt32?, hasRoom: Bool, pongCount: Int,
        isSettled: Bool
    ) -> Orders {
        var orders = Orders()
        if hasRead { readAt = uptime }
        hasRead = false
        if hasAnswer { answeredAt = uptime }
        hasAnswer = false
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
            orders.isMute = mark.at > answeredAt
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

    /// Estimates how many open requests the peer can keep up with (Little's law: open requests = rate × time per
    /// request).
    private mutating func follow(uptime: Duration, nextStreamID: UInt32, openCount: Int, oldestOpenID: UInt32?) {
        defer { openBefore = openCount }
        let slow = Duration.seconds(Limits.slowAnswerSeconds)
        let isSlow = oldestOpenID.map { id in marks.contains { uptime - $0.at >= slow && $0.streamID > id } } ?? false
        guard isSlow else {
            // The limit doubles per tick rather than vanishing, because a peer that was slow a moment ago may be slow
            // again.
            openMax = openMax.map { $0 * 2 }.flatMap { $0 < Limits.streamsPerConnectionMax ? $0 : nil }
            return
        }
        let begun = marks.last.map { Int(nextStreamID &- $0.streamID) / 2 } ?? 0
        let answered = max(0, begun + openBefore - openCount)
        openMax = max(Limits.slowStreamsMin, answered * Int(Limits.slowAnswerSeconds))
    }
}
