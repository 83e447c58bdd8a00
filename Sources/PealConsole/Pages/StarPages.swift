internal import PealCore

/// Starred devices of an app: those that test messages go to.
struct Stars: Sendable {
    static let devicesMax = 20

    let store: any Store

    static let routes: [ConsoleRoute] = [
        .app(.post, "devices/:id/star", .send) { visit in
            let id: DeviceID = try visit.id("id", of: "device")
            try await Stars(store: visit.services.store).toggle(id, app: try visit.app.key)
            return ConsoleAnswer(redirect: visit.link("devices", id.description))
        }
    ]

    /// Devices that exist, in the order in which they were starred.
    func devices(app: AppKey) async throws -> [Device] {
        try await store.read { store in
            try Self.ids(try store.setting(Self.name(app))).compactMap { try store.device(app: app, id: $0) }
        }
    }

    /// Stars the device, or takes the star away.
    /// - Throws: `not_found`; `conflict` beyond `devicesMax`.
    private func toggle(_ id: DeviceID, app: AppKey) async throws {
        try await store.write(.control) { store in
            guard try store.device(app: app, id: id) != nil else { throw PealError.notFound("device") }
            var ids = try Self.ids(try store.setting(Self.name(app))).filter {
                try store.device(app: app, id: $0) != nil
            }
            if let index = ids.firstIndex(of: id) { ids.remove(at: index) } else { ids.append(id) }
            guard ids.count <= Self.devicesMax else {
                throw PealError(.conflict, "at most \(Self.devicesMax) devices can be starred")
            }
            try store.setSetting(Self.name(app), JSON.array(ids.map { .string($0.description) }).bytes)
        }
    }

    private static func name(_ app: AppKey) -> String { "console.stars.\(app)" }

    private static func ids(_ bytes: [UInt8]?) -> [DeviceID] {
        let json = bytes.flatMap { try? JSONParser.parse($0) }
        return json?.arrayValue?.compactMap { $0.stringValue.flatMap { DeviceID($0) } } ?? []
    }
}
