internal import PealCore

extension StoreSession {
    /// Makes a device known by its identifiers, and by no others.
    func putIdentifiers(_ identifiers: [String: String], app: AppKey, device: DeviceKey, isNew: Bool) throws {
        if !isNew {
            try connection.execute(
                "DELETE FROM device_identifier WHERE app = $1 AND seq = $2", [.int(app), .int(device)])
        }
        try connection.execute(
            "INSERT INTO device_identifier (app, kind, value, seq) VALUES ($1, $2, $3, $4)",
            rows: identifiers.sorted { $0.key < $1.key }.map { kind, value in
                [.int(app), .text(kind), .text(value), .int(device)]
            })
    }
}
