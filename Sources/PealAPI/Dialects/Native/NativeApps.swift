internal import Foundation
internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Apps: the admin creates and deletes them; keys with the right scope read and change them.
struct NativeApps: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.post, "/peal/v1/apps", .admin, create), Endpoint(.get, "/peal/v1/apps", .ownApps, list),
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
        return Answer(try await services.verbs.apps.create(app, call.verb) { Reply(status: 201, Self.json($0)) })
    }

    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .id)
        if let key = call.caller.key {
            let own = try await services.store.read { try $0.app(key: key.app) }
            return list.answer(ofAll: own.map { [$0] } ?? [], by: \.id, json: Self.json)
        }
        let (apps, isComplete) = try await services.store.checkedList {
            try $0.apps(after: list.id(), limit: list.fetchCount + $1)
        }
        return list.answer(apps, isComplete: isComplete, cursor: \.id.bytes, json: Self.json)
    }

    private func change(_ call: Call) async throws -> Answer {
        let json = try call.object()
        let app = try await services.verbs.apps.change(try call.app().key, call.verb) { app throws(PealError) in
            try NativeAppShapes.facts.apply(json, to: &app, .native, now: call.now)
        }
        return Answer(.ok, Self.json(app))
    }

    private func delete(_ call: Call) async throws -> Answer {
        guard let id = AppID(call.parameter("app")), let app = try await services.store.read({ try $0.app(id) })
        else { throw PealError.notFound("app") }
        try await services.verbs.apps.delete(app, call.verb)
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

/// The shapes of requests to create or change an app.
enum NativeAppShapes {
    static let draft = ObjectShape("NativeAppDraft", NativeAppDraft()) {
        Entry("id", .id()) { $0.id = $1 }
        Entry.including(facts, in: \.app)
    }

    static let facts = ObjectShape("NativeAppFacts", NativeAppDraft().app) {
        Entry(required: "name", .text()) { $0.name = $1 }
        Entry("bundle_id", .text()) { $0.bundleID = $1 }
        for (dialect, member) in NativeApps.dialectIDs {
            Entry(member, .text()) { $0.dialectIDs[dialect] = $1 }
        }
        Entry("settings", settings.shape) { if let given = $1 { $0.settings.merge(given) } }
    }

    /// The rules and sections that a request contains. Rules are replaced, and null removes them. Settings in sections
    /// keep their values if they are absent or null.
    static let settings = ObjectShape("NativeSettings", JSON.Members()) {
        Entry("quiet_hours", quietHours) { $0["quiet_hours"] = .some($1 ?? .null) }
        Entry("frequency_cap", frequencyCap) { $0["frequency_cap"] = .some($1 ?? .null) }
        Entry("rate_per_second", .integer(1...Limits.ratePerSecondMax)) {
            $0["rate_per_second"] = .some($1.map { .integer($0) } ?? .null)
        }
        Entry("default_time_zone", timeZone) { $0["default_time_zone"] = .some($1.map { .string($0) } ?? .null) }
        for section in sections { Entry(section, part(section)) { $0[section] = $1.map(JSON.object) } }
    }

    private static let quietHours: Shape<JSON> = ObjectShape(
        "NativeQuietHours", JSON.Members(), "In the device's time zone; they may span midnight.",
        rules: [someHours]
    ) {
        Entry(required: "from", clock) { $0["from"] = .string($1) }
        Entry(required: "to", clock) { $0["to"] = .string($1) }
    }.shape.map { .object($0) }

    private static let clock = Shape<String>.text(characters: 5).matching(
        "([01][0-9]|2[0-3]):[0-5][0-9]", "must be a time such as 22:00"
    ) { QuietHours.minute($0) != nil }

    private static let someHours = Rule<JSON.Members>("`from` and `to` differ.") {
        given, _, reading throws(PealError) in
        guard given["from"] == given["to"] else { return }
        throw .invalid(reading.path("to"), "\(reading.path("to")) must not be the same as from")
    }

    private static let frequencyCap: Shape<JSON> = ObjectShape(
        "NativeFrequencyCap", JSON.Members()
    ) {
        Entry(required: "messages", .integer(1...Limits.frequencyMessagesMax)) { $0["messages"] = .integer($1) }
        Entry(required: "hours", .integer(1...Limits.frequencyHoursMax)) { $0["hours"] = .integer($1) }
    }.shape.map { .object($0) }

    private static let timeZone = NativeDeviceShapes.timeZone.checked { name, reading throws(PealError) in
        guard TimeZone(identifier: name) != nil else {
            throw reading.refusal("must be a time zone such as Europe/Vienna")
        }
        return name
    }

    private static let sections = Set(Dialects.settings.map(\.section)).sorted()

    private static func part(_ section: String) -> Shape<JSON.Members> {
        ObjectShape("NativeSettingsOf\(section.prefix(1).uppercased())\(section.dropFirst())", JSON.Members()) {
            for setting in Dialects.settings where setting.section == section {
                Entry(setting.name, value(of: setting)) { $0[setting.name] = $1 }
            }
        }.shape
    }

    /// The shape of one setting's value.
    private static func value(of setting: any DeclaredSetting) -> Shape<JSON> {
        Shape(
            read: { json, reading throws(PealError) in try setting.checked(json, path: reading.path) },
            describe: { _ in
                Schema(setting.schema.objectValue?.pairs.map { ($0.0, $0.1) } ?? [])
            })
    }
}

extension AppSettings {
    /// Merges `given` over these settings.
    fileprivate mutating func merge(_ given: JSON.Members) {
        var sections = given
        for name in Self.ruleNames { sections[name] = nil }
        self = AppSettings(json: completed(Dialects.settings).json.merging(.object(sections)))
        replaceRules(given)
    }
}

extension NativeDocument {
    static let apps: [APIOperation] = [
        APIOperation(
            id: "createApp", method: .post, path: "/peal/v1/apps", summary: "Create an app",
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
            text: "Absent members keep their values; null clears a member.",
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
