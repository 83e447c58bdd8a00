import NIOCore
import PealCore

/// The queue of a pool: requests that the peer proved unprocessed first, then small messages, then large ones. Hands
/// runs of devices to connections. A value; the pool holds the lock.
struct PoolQueue {
    /// What a connection has room for.
    struct Budget {
        var streams: Int
        var windowBytes: Int
        /// The limits for large messages: lower on the connection that keeps a share free for small ones.
        var bulkStreams: Int
        var bulkWindowBytes: Int
        /// The initial window of a new stream, and how many bodies that exceed it may begin.
        var streamWindow: Int
        var partialBodies: Int
        /// Whether no stream is open, so that waiting for a larger window might never end.
        var isIdle: Bool
        /// Whether the connection shows its full capacity, so that work it leaves calls for another connection.
        var isProven = true
    }

    /// Devices of one order that a connection begins now.
    struct Run {
        let order: OpenOrder
        let indices: Indices
        let resends: UInt8

        /// Positions of the devices in the order's page.
        enum Indices {
            case range(Range<Int32>)
            case list([Int32])

            subscript(position: Int) -> Int32 {
                switch self {
                case .range(let range): range.lowerBound + Int32(position)
                case .list(let list): list[position]
                }
            }
        }

        var count: Int {
            switch indices {
            case .range(let range): range.count
            case .list(let list): list.count
            }
        }
    }

    private struct Waiting {
        let order: OpenOrder
        var next: Int32 = 0

        var rest: [Int32] { Array(next..<Int32(order.count)) }
    }

    /// A device whose request the peer proved unprocessed; `count` is how often the peer has refused it.
    struct Resend {
        let order: OpenOrder
        let index: Int32
        let count: UInt8
    }

    private var resends = CircularBuffer<Resend>()
    private var direct = CircularBuffer<Waiting>()
    private var bulk = CircularBuffer<Waiting>()

    var isEmpty: Bool { resends.isEmpty && direct.isEmpty && bulk.isEmpty }

    mutating func append(_ order: OpenOrder) {
        guard order.count > 0 else { return }
        if order.order.lane == .direct {
            direct.append(Waiting(order: order))
        } else {
            bulk.append(Waiting(order: order))
        }
    }

    mutating func append(_ resend: Resend) { resends.append(resend) }

    /// Takes the next run that fits. Orders that may no longer begin go to `refusals`.
    mutating func pull(_ budget: Budget, uptime: Duration, refusals: inout [RefusedDevices]) -> Run? {
        if let run = pullResends(budget, uptime: uptime, refusals: &refusals) { return run }
        if let run = Self.pull(from: &direct, budget, uptime, &refusals) { return run }
        return Self.pull(from: &bulk, budget, uptime, &refusals)
    }

    private static func pull(
        from lane: inout CircularBuffer<Waiting>, _ budget: Budget, _ uptime: Duration,
        _ refusals: inout [RefusedDevices]
    ) -> Run? {
        while let first = lane.first {
            if let answer = first.order.refusal(at: uptime) {
                refusals.append(RefusedDevices(order: first.order.order, indices: first.rest, answer: answer))
                lane.removeFirst()
                continue
            }
            let rest = first.order.count - Int(first.next)
            let count = Int32(min(rest, fitting(first.order, budget)))
            guard count > 0 else { return nil }
            let range = first.next..<first.next + count
            if Int(count) == rest { lane.removeFirst() } else { lane[lane.startIndex].next += count }
            return Run(order: first.order, indices: .range(range), resends: 0)
        }
        return nil
    }

    private mutating func pullResends(_ budget: Budget, uptime: Duration, refusals: inout [RefusedDevices]) -> Run? {
        while let first = resends.first {
            let refusal = first.order.refusal(at: uptime)
            let room = refusal == nil ? Self.fitting(first.order, budget) : .max
            guard room > 0 else { return nil }
            var list: [Int32] = []
            while let next = resends.first, next.order === first.order, next.count == first.count, list.count < room {
                list.append(next.index)
                resends.removeFirst()
            }
            guard let refusal else { return Run(order: first.order, indices: .list(list), resends: first.count) }
            refusals.append(RefusedDevices(order: first.order.order, indices: list, answer: refusal))
        }
        return nil
    }

    /// How many devices of the order the budget has room for.
    private static func fitting(_ order: OpenOrder, _ budget: Budget) -> Int {
        let isDirect = order.order.lane == .direct
        let streams = min(isDirect ? budget.streams : budget.bulkStreams, Limits.devicesPerPullMax)
        let windowBytes = isDirect ? budget.windowBytes : budget.bulkWindowBytes
        let body = max(order.bodyBytesMax, 1)
        if body > budget.streamWindow { return min(streams, budget.partialBodies, 1) }
        let fitting = min(streams, max(0, windowBytes) / body)
        return fitting == 0 && budget.isIdle ? min(streams, 1) : fitting
    }

    /// Removes every entry for which `refusal` returns an answer.
    mutating func remove(_ refusal: (OpenOrder) -> ProviderAnswer?) -> [RefusedDevices] {
        guard !isEmpty else { return [] }
        var refusals: [RefusedDevices] = []
        for lane in [\PoolQueue.direct, \PoolQueue.bulk] {
            self[keyPath: lane].removeAll { waiting in
                guard let answer = refusal(waiting.order) else { return false }
                refusals.append(RefusedDevices(order: waiting.order.order, indices: waiting.rest, answer: answer))
                return true
            }
        }
        resends.removeAll { resend in
            guard let answer = refusal(resend.order) else { return false }
            refusals.append(RefusedDevices(order: resend.order.order, indices: [resend.index], answer: answer))
            return true
        }
        return refusals
    }
}
