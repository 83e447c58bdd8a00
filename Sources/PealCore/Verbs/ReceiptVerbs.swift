internal import Synchronization

/// Stores the receipts of devices for messages and geofences.
package struct ReceiptVerbs: Sendable {
    let gatherer: ReceiptGatherer

    /// Stores the receipts of known devices for known messages and geofences, and ignores all others. Repeated receipts
    /// change nothing. `Receipt.Kind.implied` is stored too.
    /// - Parameter isOwn: A device for which it is false counts as unknown.
    /// - Returns: How many were new.
    @discardableResult
    package func record(
        _ facts: [DeviceFact], app: AppKey, now: Timestamp, where isOwn: @escaping @Sendable (Device) -> Bool
    ) async throws -> Int {
        var count = 0
        var rest = facts[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Limits.analyticsEventsPerCommit))
            rest = rest.dropFirst(Limits.analyticsEventsPerCommit)
            count += try await gatherer.write { store in
                var reader = Reader(store: store, app: app, now: now, isOwn: isOwn)
                let (receipts, triggers) = try reader.resolve(piece)
                return try store.record(receipts, app: app) + store.record(triggers, app: app)
            }
        }
        return count
    }

    /// Looks up each device, message and geofence once.
    private struct Reader {
        let store: any StoreReading
        let app: AppKey
        let now: Timestamp
        let isOwn: (Device) -> Bool
        private var devices: [DeviceID: DeviceKey?] = [:]
        private var messages: [MessageID: Timestamp?] = [:]
        private var geofences: [Int64: Bool] = [:]

        init(store: any StoreReading, app: AppKey, now: Timestamp, isOwn: @escaping (Device) -> Bool) {
            self.store = store
            self.app = app
            self.now = now
            self.isOwn = isOwn
        }

        mutating func resolve(_ facts: [DeviceFact]) throws -> ([Receipt], [GeofenceTrigger]) {
            var (receipts, triggers): ([Receipt], [GeofenceTrigger]) = ([], [])
            for fact in facts {
                guard let device = try device(fact.device) else { continue }
                switch fact.subject {
                case .message(let id, let kind):
                    guard let sentAt = try createdAt(id) else { continue }
                    // With a wrong device clock, a receipt must not be earlier than its message.
                    let at = max(sentAt, min(fact.at ?? now, now))
                    for kind in [kind] + kind.implied {
                        receipts.append(Receipt(message: id, device: device, kind: kind, at: at))
                    }
                case .geofence(let id, let location):
                    guard try isKnown(id) else { continue }
                    triggers.append(
                        GeofenceTrigger(geofence: id, location: location, device: device, at: crossing(fact.at)))
                }
            }
            return (receipts, triggers)
        }

        /// The time that identifies a crossing: the one that the device reported, even if its clock is ahead, so that
        /// the report is the same when it is sent again. Reports without a usable time count once a day.
        private func crossing(_ at: Timestamp?) -> Timestamp {
            if let at, at <= now + .seconds(Limits.deviceClockAheadSecondsMax) { return at }
            return now.floored(toSeconds: 24 * 3600)
        }

        private mutating func device(_ id: DeviceID) throws -> DeviceKey? {
            if let known = devices[id] { return known }
            let device = try store.device(app: app, id: id).flatMap { isOwn($0) ? $0.key : nil }
            devices[id] = .some(device)
            return device
        }

        private mutating func createdAt(_ id: MessageID) throws -> Timestamp? {
            if let known = messages[id] { return known }
            let at = try store.message(app: app, id: id)?.createdAt
            messages[id] = .some(at)
            return at
        }

        private mutating func isKnown(_ id: Int64) throws -> Bool {
            if let known = geofences[id] { return known }
            let isKnown = try store.geofence(app: app, id: id) != nil
            geofences[id] = isKnown
            return isKnown
        }
    }
}

/// Combines the receipts of many requests into few writes: receipts that arrive during a write are written together by
/// the next one. After a large message, many phones report at the same time, and each write occupies a slot in the
/// store's queue.
package final class ReceiptGatherer: Sendable {
    typealias Body = @Sendable (any StoreWriting) throws -> Int

    /// Why a waiting request is resumed.
    private enum Turn {
        case done(Result<Int, any Error>)
        /// It must write the next group, which begins with its own receipts.
        case lead
    }

    private struct Order {
        let body: Body
        let waiter: CheckedContinuation<Turn, Never>
    }

    private struct State {
        var orders: [Order] = []
        var isWriting = false
    }

    private static let ordersPerWrite = 256
    private let store: any Store
    private let state = Mutex(State())

    package init(store: any Store) { self.store = store }

    /// Runs `body` in a write with those of other requests.
    /// - Throws: what `body` throws; `rate_limited` when too many wait; `unavailable` when the store failed.
    func write(_ body: @escaping Body) async throws -> Int {
        let isFull = state.withLock { $0.orders.count >= Limits.writerItemsWaitingMax }
        guard !isFull else {
            throw PealError(.rateLimited, "too many receipts are waiting", retryAfterSeconds: 1)
        }
        let turn = await withCheckedContinuation { waiter in
            let leads = state.withLock { state in
                guard state.isWriting else {
                    state.isWriting = true
                    return true
                }
                state.orders.append(Order(body: body, waiter: waiter))
                return false
            }
            if leads { waiter.resume(returning: .lead) }
        }
        switch turn {
        case .done(let result): return try result.get()
        case .lead: return try await lead(body).get()
        }
    }

    /// Writes `body` and all waiting ones, then lets the first of those that arrived meanwhile lead.
    private func lead(_ body: @escaping Body) async -> Result<Int, any Error> {
        let others = state.withLock { state in
            let taken = Array(state.orders.prefix(Self.ordersPerWrite - 1))
            state.orders.removeFirst(taken.count)
            return taken
        }
        let results = await write([body] + others.map(\.body))
        for (order, result) in zip(others, results.dropFirst()) { order.waiter.resume(returning: .done(result)) }
        let next = state.withLock { state -> Order? in
            guard state.orders.isEmpty else { return state.orders.removeFirst() }
            state.isWriting = false
            return nil
        }
        next?.waiter.resume(returning: .lead)
        return results[0]
    }

    /// Writes all bodies in one transaction; if that fails, each separately, so that a failing one does not undo the
    /// others.
    private func write(_ bodies: [Body]) async -> [Result<Int, any Error>] {
        if bodies.count > 1, let counts = try? await store.write(.rest, { store in try bodies.map { try $0(store) } }) {
            return counts.map { .success($0) }
        }
        var results: [Result<Int, any Error>] = []
        for body in bodies {
            do { results.append(.success(try await store.write(.rest, body))) } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}
