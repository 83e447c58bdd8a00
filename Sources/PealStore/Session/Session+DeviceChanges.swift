internal import PealCore

extension StoreSession {
    func deleteDevice(app: AppKey, id: DeviceID) throws -> Bool {
        guard let row = try deviceRow(app: app, id: id) else { return false }
        try erase(app: app, device: row.key, route: row.route)
        return true
    }

    /// The delivery log names devices only by numbers that are never given again, so nothing in it tells of the person
    /// once the devices are gone.
    func deleteUser(app: AppKey, userID: String) throws -> Int {
        let devices = try connection.all(
            "SELECT seq, route FROM device WHERE app = $1 AND user_id = $2", [.int(app), .text(userID)]
        ) { (key: $0.int(0), route: try $0.route(1)) }
        for device in devices { try erase(app: app, device: device.key, route: device.route) }
        return devices.count
    }

    private func erase(app: AppKey, device: DeviceKey, route: Route) throws {
        try leaveStreams(app: app, device: device, route: route)
        for table in ["receipt", "geofence_trigger", "device_topic", "device_identifier", "device_detail", "device"] {
            try connection.execute(
                "DELETE FROM \(table) WHERE app = $1 AND seq = $2", [.int(app), .int(device)])
        }
    }

    func changeTopics(app: AppKey, device: DeviceKey, add: [String], remove: [String], now: Timestamp) throws {
        let row = try connection.first(
            "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND seq = $2", [.int(app), .int(device)],
            DeviceRow.init)
        guard let row else { throw PealError.notFound("device") }
        for name in Set(remove.map(ExactText.init)).subtracting(add.map(ExactText.init)) {
            guard let topic = try knownTopicNumber(app: app, name: name.text) else { continue }
            try unsubscribe(row, topic, app: app)
        }
        for name in Set(add.map(ExactText.init)) {
            try subscribe(row, try topicNumber(app: app, name: name.text, now: now), app: app, now: now)
        }
    }
}
