internal import PealCore

/// `spent_wake`: the last wake-ups of installations that ended within the hour, by address. A device that is
/// unregistered and registered again is the same phone, so its budget continues.
enum SpentWakeTable {
    /// Copies the wake-ups that an installation has spent, before its row is deleted or its device gets another
    /// address.
    static func keep(of device: DeviceKey, app: AppKey, now: Timestamp) -> SQL {
        """
        INSERT INTO spent_wake (app, address_key, woken_at, woken_before)
        SELECT d.app, d.address_key, i.woken_at, i.woken_before
        FROM installation i JOIN device d ON d.app = i.app AND d.seq = i.seq
        WHERE i.app = \(app) AND i.seq = \(device) AND i.woken_at > \(now - life)
        ON CONFLICT (app, address_key) DO UPDATE
        SET woken_at = excluded.woken_at, woken_before = excluded.woken_before
        """
    }

    static func find(_ addressKey: [UInt8], app: AppKey) -> SQL {
        "SELECT woken_at, woken_before FROM spent_wake WHERE app = \(app) AND address_key = \(addressKey)"
    }

    /// Rows that no budget counts.
    static func over(_ now: Timestamp) -> SQL { "woken_at <= \(now - life) ORDER BY woken_at" }

    private static let life = Duration.seconds(Limits.wakeBudgetSeconds + Limits.wakeLatenessSeconds)
}

extension StoreSession {
    func keepSpentWakes(of device: DeviceKey, app: AppKey, now: Timestamp) throws {
        try connection.post(SpentWakeTable.keep(of: device, app: app, now: now))
    }

    func spentWakes(app: AppKey, address: Address) throws -> [Timestamp] {
        let spent = try connection.first(SpentWakeTable.find(DeviceTable.addressKey(of: address), app: app)) {
            row -> [Timestamp?] in [try row.next(), try row.next()]
        }
        return spent?.compactMap { $0 } ?? []
    }
}
