internal import PealCore

/// Starred devices of an app: those that test messages go to.
enum Stars {
    static let routes: [ConsoleRoute] = [
        .app(.post, "devices/:id/star", .send) { visit in
            let id: DeviceID = try visit.id("id", of: "device")
            try await toggle(visit, id)
            return ConsoleAnswer(redirect: visit.link("devices", id.description))
        }
    ]

    static func devices(_ visit: PageCall) async throws -> [Device] {
        let app = try visit.app.key
        return try await visit.services.store.read { try $0.starredDevices(app: app) }
    }

    /// Stars the device, or removes the star.
    /// - Throws: `not_found`; `conflict` beyond `Limits.starredDevicesMax`.
    private static func toggle(_ visit: PageCall, _ id: DeviceID) async throws {
        let (app, now) = (try visit.app.key, visit.now)
        try await visit.services.store.write(.control) { store in
            guard let device = try store.device(app: app, id: id) else { throw PealError.notFound("device") }
            let starred = try store.starredDevices(app: app)
            if starred.contains(where: { $0.key == device.key }) {
                return try store.unstar(app: app, device: device.key)
            }
            guard starred.count < Limits.starredDevicesMax else {
                throw PealError(.conflict, "at most \(Limits.starredDevicesMax) devices can be starred")
            }
            try store.star(app: app, device: device.key, now: now)
        }
    }
}
