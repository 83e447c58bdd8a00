internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Apps: the admin creates and deletes them; keys with the right scope read and change them.
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
        let given = try call.body(NativeAppShapes.draft.shape, .native)
        var app = given.app
        app.id = given.id ?? services.randomness.timeOrderedIdentifier(at: call.now)
        app.createdAt = call.now
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
            try NativeAppShapes.facts.apply(json, to: &app, .native, now: call.now)
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

    /// The members that hold the ids that dialects use for the app.
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

/// The members of an app that a request to create or change it contains.
struct NativeAppDraft: Sendable {
    var id: AppID?
    var app = App(
        id: AppID(high: 0, low: 0), key: 0, name: "", settings: AppSettings().completed(Dialects.settings),
        createdAt: Timestamp(milliseconds: 0))
}

enum NativeAppShapes {
    static let draft = ObjectShape("NativeAppDraft", NativeAppDraft()) {
        Entry("id", .id()) { $0.id = $1 }
        Entry(including: facts, \.app)
    }

    static let facts = ObjectShape("NativeAppFacts", NativeAppDraft().app) {
        Entry(required: "name", .text()) { $0.name = $1 }
        Entry("bundle_id", .text()) { $0.bundleID = $1 }
        for (dialect, member) in NativeApps.dialectIDs {
            Entry(member, .text()) { $0.dialectIDs[dialect] = $1 }
        }
        Entry("settings", settings.shape) { if let given = $1 { $0.settings.merge(given) } }
    }

    /// The sections that a request contains. Settings that are absent or null keep their values.
    static let settings = ObjectShape("NativeSettings", JSON.Members()) {
        for name in ["quiet_hours", "frequency_cap", "rate_per_second"] { Entry(unsupported: name) }
        for section in sections { Entry(section, part(section)) { $0[section] = $1.map(JSON.object) } }
    }

    private static let sections = Set(Dialects.settings.map(\.section)).sorted()

    private static func part(_ section: String) -> Shape<JSON.Members> {
        ObjectShape("NativeSettingsOf\(section.prefix(1).uppercased())\(section.dropFirst())", JSON.Members()) {
            for setting in Dialects.settings where setting.section == section {
                Entry(setting.name, value(of: setting)) { $0[setting.name] = $1 }
            }
        }.shape
    }

    /// The shape of one setting's value: a flag, or a share from 0 to 1.
    private static func value(of setting: any DeclaredSetting) -> Shape<JSON> {
        Shape(
            read: { json, reading throws(PealError) in try setting.checked(json, path: reading.path) },
            describe: { _ in
                setting.standardJSON.boolValue == nil ? Schema.number.with("minimum", 0).with("maximum", 1) : .flag
            })
    }
}

extension AppSettings {
    /// Merges `given` over these settings.
    fileprivate mutating func merge(_ given: JSON.Members) {
        self = AppSettings(json: completed(Dialects.settings).json.merging(.object(given)))
    }
}

extension NativeDocument {
    static let apps: [APIOperation] = [
        APIOperation(
            id: "createApp", method: .post, path: "/peal/v1/apps", summary: "Make an app",
            body: APIBody(
                schema: NativeAppShapes.draft.schema(strict),
                examples: [("app", ["name": "Cheese", "bundle_id": "com.example.cheese"])]),
            answers: [APIAnswer(201, "The app.", shown)], namesIdempotencyKey: false),
        APIOperation(
            id: "listApps", method: .get, path: "/peal/v1/apps", summary: "List the apps that the caller may read",
            parameters: page(.id), answers: [list(of: "NativeApp", shown)]),
        APIOperation(
            id: "getApp", method: .get, path: app, summary: "Show an app",
            answers: [APIAnswer(200, "The app.", shown)]),
        APIOperation(
            id: "changeApp", method: .patch, path: app, summary: "Change an app",
            text: "Absent members keep their values; null clears.",
            body: APIBody(
                schema: NativeAppShapes.facts.change("NativeAppChange", strict),
                examples: [("name", ["name": "Blue cheese"])]),
            answers: [APIAnswer(200, "The app.", shown)], refusals: [.conflict]),
        APIOperation(
            id: "deleteApp", method: .delete, path: app, summary: "Delete an app and everything in it",
            answers: [APIAnswer(204, "Deleted.")]),
    ]

    private static let shown = Schema.component(
        "NativeApp",
        .object(
            [
                .required("id", .uuid), .required("name", .text), .required("bundle_id", Schema.text.orNull),
            ]
                + NativeApps.dialectIDs.map { .required($0.member, Schema.text.orNull) }
                + [
                    .required("settings", NativeAppShapes.settings.schema(strict)), .required("created_at", .time),
                ]))
}
