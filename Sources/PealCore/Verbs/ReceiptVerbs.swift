/// Stores the receipts of devices for messages and geofences.
package struct ReceiptVerbs: Sendable {
    package let gatherer: ReceiptGatherer

    package init(gatherer: ReceiptGatherer) { self.gatherer = gatherer }

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
            let dayMilliseconds: Int64 = 24 * 3600 * 1000
            return Timestamp(milliseconds: now.milliseconds.floorDivided(by: dayMilliseconds) * dayMilliseconds)
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
