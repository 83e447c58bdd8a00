internal import PealCore

extension StoreSession {
    /// Moves devices that were reached in their provider's other environment there, whoever has the lease by now. Each
    /// comes into the streams of its new route only now, so that no window of a running message sees it twice.
    func move(_ settlement: Settlement, now: Timestamp) throws {
        for reached in settlement.moves.sorted(by: { $0.key < $1.key }) {
            let app = settlement.slice.app
            let row = try connection.first(
                "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND seq = $2", [.int(app), .int(reached.key)],
                DeviceRow.init)
            guard let row, row.revision == reached.revision, row.retirement == nil, row.route != reached.route else {
                continue
            }
            try move(row, to: reached.route, app: app, now: now)
        }
    }

    private func move(_ old: DeviceRow, to route: Route, app: AppKey, now: Timestamp) throws {
        var row = old
        row.address = Address(route: route, bytes: old.address.bytes)
        row.addressKey = DeviceRow.addressKey(of: row.address)
        if let holder = try deviceRow(app: app, addressKey: row.addressKey) {
            // The same installation registered there too: one of the two is enough.
            guard holder.retirement != nil else { return try release(old, app: app, now: now) }
            try release(holder, app: app, now: now)
        }
        row.since = now
        try updateRow(row, app: app)
        var detail = try DetailCoding.decode(try self.detail(app: app, device: row.key))
        detail.environmentDisproved = old.route.environment
        try putDetail(DetailCoding.encode(detail), app: app, device: row.key)
        let topics = try subscriptions(app: app, device: row.key).map(\.number)
        try move(old, to: row, topics, app: app, now: now)
        try audit(
            AuditEntry(
                at: now, app: app, actor: "delivery", action: "device.environment",
                object: "device \(row.id): \(old.route.environment.rawValue) to \(route.environment.rawValue)"))
    }

    /// A registration as the provider's proof has it: who was reached in the other environment with the same address,
    /// and named the wrong one then too, stays where it is.
    func corrected(_ registration: DeviceRegistration, app: AppKey) throws -> DeviceRegistration {
        guard let route = registration.address.route.otherEnvironment else { return registration }
        let elsewhere = Address(route: route, bytes: registration.address.bytes)
        guard let row = try deviceRow(app: app, addressKey: DeviceRow.addressKey(of: elsewhere)),
            try DetailCoding.decode(try detail(app: app, device: row.key)).environmentDisproved
                == registration.address.route.environment
        else { return registration }
        var registration = registration
        registration.address = elsewhere
        registration.detail.environmentDisproved = elsewhere.route.otherEnvironment?.environment
        return registration
    }
}
