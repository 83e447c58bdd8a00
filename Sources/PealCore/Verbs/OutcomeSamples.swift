/// Finds devices for the reasons of a message: a few for each, from the beginning of its delivery log.
package struct OutcomeSamples: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// How many devices each reason gets.
    package static let devicesPerReason = 3
    private static let rowsRead = 64

    /// Devices that still exist, by the reason of their outcome. A rare reason late in a long log may be missing.
    package func devices(of message: MessageID, app: AppKey) async throws -> [String: [DeviceID]] {
        try await store.read(.heavy) { store in
            var keys: [String: [DeviceKey]] = [:]
            for stored in try store.logRows(app: app, message: message, limit: Self.rowsRead)
            where !stored.slice.holdsAddresses {
                Self.collect(try DeliveryLog.decode(stored.row.data), into: &keys)
            }
            return try keys.mapValues { keys in
                try keys.compactMap { key in
                    let found = try store.devices(app: app, DeviceFilter(), after: key - 1, limit: 1).first
                    return found?.key == key ? found?.id : nil
                }
            }
        }
    }

    private static func collect(_ log: DeliveryLog, into keys: inout [String: [DeviceKey]]) {
        let isWanted = log.endings.map { ending in
            !ending.reason.isEmpty && keys[ending.reason, default: []].count < devicesPerReason
        }
        guard isWanted.contains(true) else { return }
        for (index, ending) in log.endingOf.enumerated() where isWanted[Int(ending)] {
            let reason = log.endings[Int(ending)].reason
            guard keys[reason, default: []].count < devicesPerReason else { continue }
            keys[reason, default: []].append(log.keys[index])
        }
    }
}
