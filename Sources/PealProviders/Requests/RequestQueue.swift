import NIOCore
import PealCore

/// The queue of a request pool and its count of requests in flight. Receives orders and replies, and hands on one
/// device at a time. A value without clock or lock; instants are from `TimeSource.uptime`.
///
/// The devices of an order are grouped by origin into lots, and lots take turns, so that neither a large page nor a
/// slow peer delays the others. Direct orders go first; bulk orders leave them an eighth of every limit. Untrusted
/// hosts, of which there may be any number, use at most half of the requests in flight, and take turns with the others.
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
        var isUntrusted = false
    }

    /// The devices of an order at one origin.
    private struct Lot {
        let order: PageOrder
        let origin: String
        var rest: ArraySlice<Int32>
        let isUntrusted: Bool
    }

    private struct Lane {
        var trusted = CircularBuffer<Lot>()
        var untrusted = CircularBuffer<Lot>()

        var isEmpty: Bool { trusted.isEmpty && untrusted.isEmpty }

        mutating func append(_ lot: Lot) {
            if lot.isUntrusted { untrusted.append(lot) } else { trusted.append(lot) }
        }
    }

    private let bounds: Bounds
    private var direct = Lane()
    private var bulk = Lane()
    private var busy: [String: Int] = [:]
    private(set) var inFlight = 0
    private var untrustedInFlight = 0
    private var isUntrustedNext = false
    /// Origins that asked for a pause, and until when.
    private var held: [String: Duration] = [:]
    private var lastReply: (origin: String, at: Duration)?

    init(_ bounds: Bounds = .init()) { self.bounds = bounds }

    var isEmpty: Bool { direct.isEmpty && bulk.isEmpty }

    /// - Parameters:
    ///   - origins: the origin of each device of the page.
    ///   - isUntrusted: whether others choose the host of an origin.
    mutating func append(_ order: PageOrder, origins: [String], isUntrusted: (String) -> Bool = { _ in false }) {
        var lots: [Lot] = []
        var lotIndices: [String: Int] = [:]
        for (index, origin) in origins.enumerated() {
            if let lotIndex = lotIndices[origin] {
                lots[lotIndex].rest.append(Int32(index))
            } else {
                lotIndices[origin] = lots.count
                lots.append(
                    Lot(order: order, origin: origin, rest: [Int32(index)], isUntrusted: isUntrusted(origin)))
            }
        }
        for lot in lots {
            if order.lane == .direct { direct.append(lot) } else { bulk.append(lot) }
        }
    }

    /// Takes the next device whose request may begin. Devices whose requests may no longer begin go to `refusals`.
    mutating func pull(uptime: Duration, refusals: inout [RefusedDevices]) -> Errand? {
        let direct = [\Self.direct.trusted, \.direct.untrusted]
        if let errand = pull(direct, bounds, uptime, &refusals) { return errand }
        let spared = Bounds(
            inFlightMax: bounds.inFlightMax - bounds.inFlightMax / 8,
            perOriginMax: bounds.perOriginMax - bounds.perOriginMax / 8)
        return pull([\.bulk.trusted, \.bulk.untrusted], spared, uptime, &refusals)
    }

    /// - Parameter lane: its trusted and its untrusted lots.
    private mutating func pull(
        _ lane: [WritableKeyPath<Self, CircularBuffer<Lot>>], _ bounds: Bounds, _ uptime: Duration,
        _ refusals: inout [RefusedDevices]
    ) -> Errand? {
        guard inFlight < bounds.inFlightMax else { return nil }
        for lots in isUntrustedNext ? lane.reversed() : lane {
            guard let errand = take(lots, bounds, uptime, &refusals) else { continue }
            isUntrustedNext = !errand.isUntrusted
            return errand
        }
        return nil
    }

    private mutating func take(
        _ lots: WritableKeyPath<Self, CircularBuffer<Lot>>, _ bounds: Bounds, _ uptime: Duration,
        _ refusals: inout [RefusedDevices]
    ) -> Errand? {
        for _ in 0..<self[keyPath: lots].count {
            // Untrusted lots wait without being examined while they have no slot.
            guard let first = self[keyPath: lots].first, !first.isUntrusted || untrustedRoom(bounds) > 0,
                var lot = self[keyPath: lots].popFirst()
            else { break }
            if let answer = refusal(lot, uptime) {
                refusals.append(RefusedDevices(order: lot.order, indices: Array(lot.rest), answer: answer))
                continue
            }
            guard mayBegin(lot, bounds), let index = lot.rest.popFirst() else {
                self[keyPath: lots].append(lot)
                continue
            }
            if !lot.rest.isEmpty { self[keyPath: lots].append(lot) }
            busy[lot.origin, default: 0] += 1
            inFlight += 1
            if lot.isUntrusted { untrustedInFlight += 1 }
            return Errand(
                subject: RequestSubject(order: lot.order, index: Int(index)), origin: lot.origin,
                isUntrusted: lot.isUntrusted)
        }
        return nil
    }

    private func untrustedRoom(_ bounds: Bounds) -> Int { bounds.inFlightMax / 2 - untrustedInFlight }

    /// An origin gets at most its share, and never more than what is free. However many peers are silent, some capacity
    /// remains for the next one (dynamic thresholds, Choudhury and Hahne 1998).
    private func mayBegin(_ lot: Lot, _ bounds: Bounds) -> Bool {
        let free = bounds.inFlightMax - inFlight
        let room = lot.isUntrusted ? min(free, untrustedRoom(bounds)) : free
        return busy[lot.origin, default: 0] < min(bounds.perOriginMax, room)
    }

    /// Why no further request of a lot may begin; nil if one may.
    private func refusal(_ lot: Lot, _ uptime: Duration) -> ProviderAnswer? {
        if lot.order.control.isStopped { return .unsent("Stopped") }
        if uptime > lot.order.deadline { return .unsent("Deadline").atHost(isUntrusted: lot.isUntrusted) }
        guard let until = held[lot.origin], until > uptime else { return nil }
        return ProviderAnswer(.held(after: until - uptime), reason: "OriginHeld")
    }

    /// Records that a request has ended.
    /// - Parameter hasReply: whether the peer replied.
    mutating func complete(_ errand: Errand, hasReply: Bool, uptime: Duration) {
        inFlight -= 1
        if errand.isUntrusted { untrustedInFlight -= 1 }
        if let count = busy[errand.origin] { busy[errand.origin] = count > 1 ? count - 1 : nil }
        if hasReply { lastReply = (errand.origin, uptime) }
    }

    /// Whether another peer replied recently, so that a silent one has its own problem.
    func isAlone(_ origin: String, uptime: Duration) -> Bool {
        guard let lastReply, lastReply.origin != origin else { return false }
        return uptime - lastReply.at < .seconds(Limits.outboundReplyMemorySeconds)
    }

    /// Holds an origin for `duration`. Ignored if too many other origins are held. Untrusted ones use at most half of
    /// the room, so that however many of them ask for a pause, others get theirs.
    mutating func hold(_ origin: String, for duration: Duration, isUntrusted: Bool = false, uptime: Duration) {
        held = held.filter { $0.value > uptime }
        let countMax = Limits.outboundOriginsHeldMax / (isUntrusted ? 2 : 1)
        guard held.count < countMax || held[origin] != nil else { return }
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
        for lots in [\Self.direct.trusted, \.direct.untrusted, \.bulk.trusted, \.bulk.untrusted] {
            var kept = CircularBuffer<Lot>()
            for lot in self[keyPath: lots] {
                if let answer = answer(self, lot) {
                    refusals.append(RefusedDevices(order: lot.order, indices: Array(lot.rest), answer: answer))
                } else {
                    kept.append(lot)
                }
            }
            self[keyPath: lots] = kept
        }
        return refusals
    }
}

extension ProviderAnswer {
    /// The same for a device at a host. Anyone may register devices at untrusted hosts, so their failures must not
    /// pause the route.
    func atHost(isUntrusted: Bool) -> ProviderAnswer {
        switch result {
        case .lost, .unsent, .verdict(.holdAddress), .verdict(.retry):
            var answer = self
            answer.isOfHostAlone = isUntrusted
            return answer
        case .held, .verdict(.accepted), .verdict(.rejectMessage), .verdict(.retireAddress), .verdict(.holdApp),
            .verdict(.refreshCredential), .verdict(.stopApp), .verdict(.reconnect):
            return self
        }
    }
}
