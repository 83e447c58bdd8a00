internal import HTTPTypes
internal import PealCore

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
            .object([
                .required("id", .uuid), .required("name", .text), .required("bundle_id", Schema.text.orNull),
                .required("richie_app_id", Schema.text.orNull), .required("devtodev_app_id", Schema.text.orNull),
                .required("settings", .object), .required("created_at", .time),
            ])
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

    private static let facts: [Property] = [
        .nullable("bundle_id", name), .nullable("richie_app_id", name), .nullable("devtodev_app_id", name),
        .nullable("settings", .named("NativeSettings")),
    ]

    private static let settings = Schema.object([
        group(
            "pivotal",
            ["verify_custom_user_id", "upsert_on_put", "send_receipt", "schedule_in_millis_heuristic", "heartbeat"]),
        group("richie", ["lenient_json", "allow_http_links"]),
        .nullable(
            "contextpush", .object([.nullable("share", Schema.number.with("minimum", 0).with("maximum", 1))])),
        group("device", ["verify_user_id"]),
    ])

    private static func group(_ name: String, _ flags: [String]) -> Property {
        .nullable(name, .object(flags.map { .nullable($0, .flag) }))
    }
}
