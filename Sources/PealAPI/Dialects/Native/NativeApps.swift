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
            name: try fields.requiredText("name"),
            settings: AppSettings().completed(Dialects.settings), createdAt: call.now)
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
        for (dialect, member) in dialectIDs where fields.mentions(member) {
            app.dialectIDs[dialect] = try fields.text(member)
        }
        if let settings = fields["settings"] { try app.settings.apply(settings, declared: Dialects.settings) }
    }

    /// The members that hold what dialects call the app.
    static let dialectIDs = Dialects.all.filter(\.namesApps).map { (dialect: $0.name, member: "\($0.name)_app_id") }

    private static func json(_ app: App) -> JSON {
        .compact(
            [
                ("id", .string(app.id.description)), ("name", .string(app.name)),
                ("bundle_id", app.bundleID.map(JSON.string) ?? .null),
            ]
                + dialectIDs.map { dialect, member in (member, app.dialectIDs[dialect].map(JSON.string) ?? .null) } + [
                    ("settings", app.settings.completed(Dialects.settings).json),
                    ("created_at", .string(app.createdAt.description)),
                ])
    }
}

extension NativeDocument {
    static let apps: [APIOperation] = [
        APIOperation(
            id: "createApp", method: .post, path: "/peal/v1/apps", summary: "Make an app",
            body: APIBody(
                schema: .named("NativeAppDraft"),
                examples: [("app", ["name": "Cheese", "bundle_id": "com.example.cheese"])]),
            answers: [APIAnswer(201, "The app.", .named("NativeApp"))], namesIdempotencyKey: false),
        APIOperation(
            id: "listApps", method: .get, path: "/peal/v1/apps", summary: "List the apps that the caller may read",
            parameters: page(.id), answers: [list(of: "NativeApp")]),
        APIOperation(
            id: "getApp", method: .get, path: app, summary: "Show an app",
            answers: [APIAnswer(200, "The app.", .named("NativeApp"))]),
        APIOperation(
            id: "changeApp", method: .patch, path: app, summary: "Change an app",
            text: "What is not given stays; null clears.",
            body: APIBody(schema: .named("NativeAppChange"), examples: [("name", ["name": "Blue cheese"])]),
            answers: [APIAnswer(200, "The app.", .named("NativeApp"))], refusals: [.conflict]),
        APIOperation(
            id: "deleteApp", method: .delete, path: app, summary: "Delete an app with everything of it",
            answers: [APIAnswer(204, "It is gone.")]),
        APIOperation(
            id: "listAudit", method: .get, path: "/peal/v1/audit", summary: "Who did what to which object",
            parameters: page(.number), answers: [list(of: "NativeAuditEntry")]),
        APIOperation(
            id: "listAppAudit", method: .get, path: "\(app)/audit", summary: "Who did what in an app",
            parameters: page(.number), answers: [list(of: "NativeAuditEntry")]),
    ]

    static let appSchemas: [(name: String, schema: Schema)] = [
        (
            "NativeApp",
            .object(
                [.required("id", .uuid), .required("name", .text), .required("bundle_id", Schema.text.orNull)]
                    + NativeApps.dialectIDs.map { .required($0.member, Schema.text.orNull) }
                    + [.required("settings", .object), .required("created_at", .time)])
        ),
        ("NativeAppDraft", .object([.required("name", name), .nullable("id", .uuid)] + facts)),
        ("NativeAppChange", .object([.optional("name", name)] + facts)),
        ("NativeSettings", settings),
        (
            "NativeAuditEntry",
            .object([
                .required("at", .time), .optional("app", .uuid), .required("actor", .text),
                .required("action", .text), .required("object", .text),
            ])
        ),
    ]

    private static let facts: [Property] =
        [.nullable("bundle_id", name)] + NativeApps.dialectIDs.map { .nullable($0.member, name) }
        + [.nullable("settings", .named("NativeSettings"))]

    private static let settings = Schema.object(
        Dialects.all.filter { !$0.settings.isEmpty }.flatMap { dialect in
            let sections = Dictionary(grouping: dialect.settings, by: \.section)
            return sections.sorted { $0.key < $1.key }.map { section, settings -> Property in
                .nullable(section, .object(settings.map { Property.nullable($0.name, schema($0)) }))
            }
        })

    /// A flag, or a share of a whole.
    private static func schema(_ setting: any DeclaredSetting) -> Schema {
        setting.standardJSON.boolValue == nil ? Schema.number.with("minimum", 0).with("maximum", 1) : .flag
    }
}
