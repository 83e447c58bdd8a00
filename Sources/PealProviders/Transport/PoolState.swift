import PealCore

/// The state of a pool and its reaction to each event. A value: the pool holds the lock and performs the effects
/// outside it.
struct PoolState {
    /// What the pool must do outside the lock after an event.
    struct Effects {
        var refusals: [RefusedDevices] = []
        var wakes: [ConnectionHandle] = []
        var finishes: [ConnectionHandle] = []
        var openings: [Int] = []
        /// Call `resume` after this time.
        var pause: Duration?
        var ended: CheckedContinuation<Void, Never>?
    }

    private struct Member {
        let id: Int
        var handle: ConnectionHandle?
        var phase = Phase.opening
        /// The connection asked for work while nothing waited, and must be woken.
        var isStarved = false
        /// The connection asked for work while the pace allowed no further request.
        var isPaced = false
        /// The connection works but is running out of stream ids, so the pool opens another one.
        var isEnding = false

        enum Phase { case opening, open, retired }
    }

    private let connectionsMax: Int
    private let openingPause: Duration
    private let pace: Pace?
    /// Whether a call of `resume` is pending.
    private var isPausing = false
    var queue = PoolQueue()
    /// In the order of their opening.
    private var members: [Member] = []
    private var nextID = 0
    private var isDraining = false
    private var waiter: CheckedContinuation<Void, Never>?
    private var failures = 0
    private var retryAt = Duration.zero
    private var openedAt: Duration?
    private var wantsMore = false
    /// Whether the peer answered no request of a connection. Until it answers one, each new connection has one request
    /// open: a peer that is slow must not be sent as many as it could take again and again.
    private(set) var isMute = false

    init(connectionsMax: Int, openingPause: Duration, pace: Pace? = nil) {
        self.connectionsMax = connectionsMax
        self.openingPause = openingPause
        self.pace = pace
    }

    var handles: [ConnectionHandle] { members.compactMap(\.handle) }
    /// The connection that keeps a share free for small messages.
    var lead: Int? { members.first { $0.phase == .open }?.id }

    mutating func submit(_ order: OpenOrder, _ effects: inout Effects) {
        guard !isDraining else {
            effects.refusals.append(
                RefusedDevices(order: order.order, indices: Array(0..<Int32(order.count)), answer: .unsent("Draining")))
            return
        }
        queue.append(order)
        wakeStarved((order.count + Limits.devicesPerPullMax - 1) / Limits.devicesPerPullMax, &effects)
    }

    mutating func requeue(_ resends: [PoolQueue.Resend], _ effects: inout Effects) {
        for resend in resends {
            if isDraining {
                effects.refusals.append(
                    RefusedDevices(order: resend.order.order, indices: [resend.index], answer: .unsent("Draining")))
            } else {
                queue.append(resend)
            }
        }
        wakeStarved(connectionsMax, &effects)
    }

    private mutating func wakeStarved(_ count: Int, _ effects: inout Effects) {
        var count = count
        for index in members.indices where count > 0 && members[index].isStarved && members[index].phase == .open {
            members[index].isStarved = false
            if let handle = members[index].handle { effects.wakes.append(handle) }
            count -= 1
        }
    }

    mutating func drain(_ effects: inout Effects) {
        isDraining = true
        effects.refusals += queue.remove { _ in .unsent("Draining") }
        effects.finishes += handles
        // Connections that are still connecting learn in `attach` that they must close.
        members.removeAll { $0.handle == nil }
    }

    /// Returns true if no connection is left, so that there is nothing to wait for.
    mutating func waitForEnd(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard !members.isEmpty else { return true }
        waiter = continuation
        return false
    }

    mutating func attach(_ id: Int, _ handle: ConnectionHandle) -> Bool {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return false }
        members[index].handle = handle
        return !isDraining
    }

    mutating func pull(
        _ id: Int, _ budget: PoolQueue.Budget, uptime: Duration, _ effects: inout Effects
    ) -> PoolQueue.Run? {
        guard let index = members.firstIndex(where: { $0.id == id }), members[index].phase != .retired else {
            return nil
        }
        members[index].phase = .open
        guard !isDraining else { return nil }
        var budget = budget
        if lead != id {
            budget.bulkStreams = budget.streams
            budget.bulkWindowBytes = budget.windowBytes
        }
        if let pace, !queue.isEmpty {
            let (requests, wait) = pace.allowance(at: uptime)
            guard requests > 0 else {
                members[index].isPaced = true
                pause(wait, &effects)
                return nil
            }
            budget.streams = min(budget.streams, requests)
            budget.bulkStreams = min(budget.bulkStreams, requests)
        }
        if let run = queue.pull(budget, uptime: uptime, refusals: &effects.refusals) {
            pace?.spend(run.count, at: uptime)
            return run
        }
        if queue.isEmpty { members[index].isStarved = true } else if budget.isProven { wantsMore = true }
        return nil
    }

    private mutating func pause(_ wait: Duration, _ effects: inout Effects) {
        guard !isPausing else { return }
        isPausing = true
        effects.pause = min(max(wait, .milliseconds(Limits.pacePauseMillisecondsMin)), .seconds(1))
    }

    /// Wakes the connections that the pace kept waiting.
    mutating func resume(_ effects: inout Effects) {
        isPausing = false
        for index in members.indices where members[index].isPaced {
            members[index].isPaced = false
            if let handle = members[index].handle { effects.wakes.append(handle) }
        }
    }

    /// Queued requests get `answer`; the connection is woken when there are new ones.
    mutating func refuse(_ id: Int, _ answer: ProviderAnswer, _ effects: inout Effects) {
        effects.refusals += queue.remove { _ in answer }
        guard let index = members.firstIndex(where: { $0.id == id }), members[index].phase != .retired else { return }
        members[index].phase = .open
        members[index].isStarved = true
    }

    mutating func noteMute() { isMute = true }

    mutating func prove(_ id: Int) {
        isMute = false
        failures = 0
        retryAt = .zero
    }

    mutating func announceEnd(_ id: Int) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members[index].isEnding = true
    }

    mutating func retire(_ id: Int) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members[index].phase = .retired
    }

    mutating func end(
        _ id: Int, hasAnswered: Bool, failure: String = "NoConnection", uptime: Duration, jitter: Double,
        _ effects: inout Effects
    ) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        members.remove(at: index)
        if !hasAnswered { fail(failure, uptime: uptime, jitter: jitter, &effects) }
        if members.isEmpty { effects.ended = waiter.take() }
    }

    /// A connection failed before its first answer. If no usable one is left, queued requests are answered `unsent`:
    /// the engine decides when to retry, and the pool waits before it connects again.
    private mutating func fail(_ failure: String, uptime: Duration, jitter: Double, _ effects: inout Effects) {
        let pause = min(Limits.reconnectMillisecondsMin << min(failures, 16), Limits.reconnectMillisecondsMax)
        retryAt = uptime + .milliseconds(pause) * (0.5 + jitter / 2)
        failures += 1
        guard !members.contains(where: { $0.phase != .retired }) else { return }
        effects.refusals += queue.remove { _ in .unsent(failure) }
    }

    mutating func sweep(uptime: Duration, _ effects: inout Effects) {
        effects.refusals += queue.remove { $0.refusal(at: uptime) }
    }

    /// Opens a connection if work waits and no connection takes it.
    mutating func consider(uptime: Duration, _ effects: inout Effects) {
        defer { wantsMore = false }
        guard !queue.isEmpty, !isDraining, uptime >= retryAt else { return }
        var usable = 0
        for member in members where member.phase != .retired && !member.isEnding {
            if member.phase == .opening { return }
            usable += 1
        }
        if usable > 0 {
            guard wantsMore, usable < connectionsMax, openedAt.map({ uptime - $0 >= openingPause }) ?? true else {
                return
            }
        }
        members.append(Member(id: nextID))
        effects.openings.append(nextID)
        nextID += 1
        openedAt = uptime
    }
}
