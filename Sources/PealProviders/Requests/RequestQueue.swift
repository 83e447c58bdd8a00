import NIOCore
import PealCore

/// The queue of a request pool and its count of requests in flight. Receives orders and replies, and hands on one
/// device at a time. A value without clock or lock; instants are from `TimeSource.uptime`.
///
/// The devices of an order are grouped by origin into lots, and lots take turns, so that neither a large page nor a
/// slow peer delays the others. Direct orders go first; bulk orders leave them an eighth of every limit.
struct RequestQueue {
    /// Maximum numbers of requests in flight, in total and per origin.
    struct Bounds: Sendable {
        var inFlightMax = Limits.outboundRequestsInFlightMax
        var perOriginMax = Limits.outboundConnectionsPerHostMax
    }

    /// A device whose request begins now.
    struct Errand: Sendable {
        let subject: RequestSubject
        let origin: String
    }

    /// The devices of an order at one origin.
    private struct Lot {
        let order: PageOrder
        let origin: String
        var rest: ArraySlice<Int32>
    }

    private let bounds: Bounds
    private var direct = CircularBuffer<Lot>()
    private var bulk = CircularBuffer<Lot>()
    private var busy: [String: Int] = [:]
    private(set) var inFlight = 0
    /// Origins that asked for a pause, and until when.
    private var held: [String: Duration] = [:]
    private var lastReply: (origin: String, at: Duration)?

    init(_ bounds: Bounds = .init()) { self.bounds = bounds }

    var isEmpty: Bool { direct.isEmpty && bulk.isEmpty }

    /// - Parameter origins: the origin of each device of the page.
    mutating func append(_ order: PageOrder, origins: [String]) {
        var lots: [Lot] = []
        var lotIndices: [String: Int] = [:]
        for (index, origin) in origins.enumerated() {
            if let lotIndex = lotIndices[origin] {
                lots[lotIndex].rest.append(Int32(index))
            } else {
                lotIndices[origin] = lots.count
                lots.append(Lot(order: order, origin: origin, rest: [Int32(index)]))
            }
        }
        if order.lane == .direct { direct.append(contentsOf: lots) } else { bulk.append(contentsOf: lots) }
    }

    /// Takes the next device whose request may begin. Devices whose requests may no longer begin go to `refusals`.
    mutating func pull(uptime: Duration, refusals: inout [RefusedDevices]) -> Errand? {
        if let errand = pull(\.direct, bounds, uptime, &refusals) { return errand }
        let spared = Bounds(
            inFlightMax: bounds.inFlightMax - bounds.inFlightMax / 8,
            perOriginMax: bounds.perOriginMax - bounds.perOriginMax / 8)
        return pull(\.bulk, spared, uptime, &refusals)
    }

    private mutating func pull(
        _ lane: WritableKeyPath<Self, CircularBuffer<Lot>>, _ bounds: Bounds, _ uptime: Duration,
        _ refusals: inout [RefusedDevices]
    ) -> Errand? {
        guard inFlight < bounds.inFlightMax else { return nil }
        for _ in 0..<self[keyPath: lane].count {
            guard var lot = self[keyPath: lane].popFirst() else { break }
            if let answer = refusal(lot, uptime) {
                refusals.append(RefusedDevices(order: lot.order, indices: Array(lot.rest), answer: answer))
                continue
            }
            guard mayBegin(at: lot.origin, bounds), let index = lot.rest.popFirst() else {
                self[keyPath: lane].append(lot)
                continue
            }
            if !lot.rest.isEmpty { self[keyPath: lane].append(lot) }
            busy[lot.origin, default: 0] += 1
            inFlight += 1
            return Errand(subject: RequestSubject(order: lot.order, index: Int(index)), origin: lot.origin)
        }
        return nil
    }

    /// An origin gets at most its share, and never more than what is free. However many peers are silent, some capacity
    /// remains for the next one (dynamic thresholds, Choudhury and Hahne 1998).
    private func mayBegin(at origin: String, _ bounds: Bounds) -> Bool {
        busy[origin, default: 0] < min(bounds.perOriginMax, bounds.inFlightMax - inFlight)
    }

    /// Why no further request of a lot may begin; nil if one may.
    private func refusal(_ lot: Lot, _ uptime: Duration) -> ProviderAnswer? {
        if lot.order.control.isStopped { return .unsent("Stopped") }
        if uptime > lot.order.deadline { return .unsent("Deadline") }
        guard let until = held[lot.origin], until > uptime else { return nil }
        return ProviderAnswer(.held(after: until - uptime), reason: "OriginHeld")
    }

    /// Records that a request has ended.
    /// - Parameter hasReply: whether the peer replied.
    mutating func complete(_ errand: Errand, hasReply: Bool, uptime: Duration) {
        inFlight -= 1
        if let count = busy[errand.origin] { busy[errand.origin] = count > 1 ? count - 1 : nil }
        if hasReply { lastReply = (errand.origin, uptime) }
    }

    /// Whether another peer replied recently, so that a silent one has its own problem.
    func isAlone(_ origin: String, uptime: Duration) -> Bool {
        guard let lastReply, lastReply.origin != origin else { return false }
        return uptime - lastReply.at < .seconds(Limits.outboundReplyMemorySeconds)
    }

    /// Holds an origin for `duration`. Ignored if too many other origins are held.
    mutating func hold(_ origin: String, for duration: Duration, uptime: Duration) {
        held = held.filter { $0.value > uptime }
        guard held.count < Limits.outboundOriginsHeldMax || held[origin] != nil else { return }
        held[origin] = max(held[origin] ?? .zero, uptime + duration)
    }

    /// Removes the devices whose requests may no longer begin, and returns them with their answers.
    mutating func sweep(uptime: Duration) -> [RefusedDevices] {
        remove { queue, lot in queue.refusal(lot, uptime) }
    }

    /// Removes the queued devices of an order, and returns them with `answer`.
    mutating func remove(_ order: PageOrder, _ answer: ProviderAnswer) -> [RefusedDevices] {
        remove { _, lot in lot.order === order ? answer : nil }
    }

    /// Removes the queued devices at an origin, and returns them with `answer`.
    mutating func remove(origin: String, _ answer: ProviderAnswer) -> [RefusedDevices] {
        remove { _, lot in lot.origin == origin ? answer : nil }
    }

    /// Removes all queued devices, and returns them with `answer`.
    mutating func removeAll(_ answer: ProviderAnswer) -> [RefusedDevices] { remove { _, _ in answer } }

    private mutating func remove(_ answer: (Self, Lot) -> ProviderAnswer?) -> [RefusedDevices] {
        guard !isEmpty else { return [] }
        var refusals: [RefusedDevices] = []
        for lane in [\Self.direct, \Self.bulk] {
            var kept = CircularBuffer<Lot>()
            for lot in self[keyPath: lane] {
                if let answer = answer(self, lot) {
                    refusals.append(RefusedDevices(order: lot.order, indices: Array(lot.rest), answer: answer))
                } else {
                    kept.append(lot)
                }
            }
            self[keyPath: lane] = kept
        }
        return refusals
    }
}
