internal import HTTPTypes
internal import PealCore

/// Apps: made and deleted by the admin, read and changed by those who may.
struct NativeApps: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.post, "/peal/v1/apps", .admin, create), Endpoint(.get, "/peal/v1/apps", .anyNative, list),
            Endpoint(.get, app, .app(.read)) { call in Answer(.ok, Self.json(try call.app())) },
            Endpoint(.patch, app, .app(.manage), change),
            Endpoint(.delete, app, .admin, delete),
        ]
    }

    private func create(_ call: Call) async throws -> Answer {
        let fields = try Fields(try call.object())
        var app = App(
            id: try Self.id(fields) ?? services.randomness.timeOrderedIdentifier(at: call.now), key: 0,
            name: try fields.requiredText("name"), createdAt: call.now)
        try Self.edit(&app, fields)
        return Answer(try await services.apps.create(app, call.verb) { Reply(status: 201, Self.json($0)) })
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .id)
        let apps: [App]
        if let key = call.caller.key {
            guard key.scopes.contains(.read) else { throw PealError(.forbidden, "this key lacks the scope read") }
            apps = try await services.store.read { try $0.app(key: key.app).map { [$0] } ?? [] }
        } else {
            apps = try await services.store.read { try $0.apps(after: list.id(), limit: list.fetchCount) }
        }
        return list.answer(apps, cursor: \.id.bytes, json: Self.json)
    }

    private func change(_ call: Call) async throws -> Answer {
        let json = try call.object()
        let app = try await services.apps.change(try call.app().key, call.verb) { app throws(PealError) in
            let fields = try Fields(json)
            if fields.mentions("name") { app.name = try fields.requiredText("name") }
            try Self.edit(&app, fields)
        }
        return Answer(.ok, Self.json(app))
    }

    private func delete(_ call: Call) async throws -> Answer {
        guard let id = AppID(call.parameter("app")), let app = try await services.store.read({ try $0.app(id) })
        else { throw PealError.notFound("app") }
        try await services.apps.delete(app, call.verb)
        services.keyRing.forget()
        return Answer(.noContent)
    }

    private static func id(_ fields: Fields) throws(PealError) -> AppID? {
        guard let text = try fields.text("id") else { return nil }
        guard let id = AppID(text) else { throw .invalid("id", "id must be a UUID") }
        return id
    }

    /// Takes over what `fields` mention; null clears.
    private static func edit(_ app: inout App, _ fields: Fields) throws(PealError) {
        if fields.mentions("bundle_id") { app.bundleID = try fields.text("bundle_id") }
        if fields.mentions("richie_app_id") { app.richieAppID = try fields.text("richie_app_id") }
        if fields.mentions("devtodev_app_id") { app.devtodevAppID = try fields.text("devtodev_app_id") }
        if let settings = fields["settings"] { try app.settings.apply(settings) }
    }

    private static func json(_ app: App) -> JSON {
        [
            "id": .string(app.id.description), "name": .string(app.name),
            "bundle_id": app.bundleID.map(JSON.string) ?? .null,
            "richie_app_id": app.richieAppID.map(JSON.string) ?? .null,
            "devtodev_app_id": app.devtodevAppID.map(JSON.string) ?? .null,
            "settings": app.settings.json, "created_at": .string(app.createdAt.description),
        ]
    }
}
