internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The OpenAPI description of the device API.
enum DeviceDocument {
    /// - Parameter topicsPerDeviceMax: as configured.
    static func document(topicsPerDeviceMax: Int) -> DialectDocument {
        let registering = Describing(
            policy: .device, now: Timestamp(milliseconds: 0), topicsPerDeviceMax: topicsPerDeviceMax)
        return DialectDocument(
            name: "Device", text: "Apps and web pages register their own devices and report for them.",
            dialect: DeviceDialect(), refusal: NativeDocument.refusal,
            pathParameters: [
                .path("topic", NativeDocument.name, "The topic's name."), .path("id", .uuid, "The message's id."),
            ],
            operations: [register(registering)] + registration + moments + files,
            schemas: eventSchemas)
    }

    private static let base = DeviceRoutes.base
    private static let describing = Describing(policy: .device, now: Timestamp(milliseconds: 0))

    /// An event and what it refers to. No request refers to it, because an invalid event is refused individually.
    private static let eventSchemas = DeviceShapes.event.schema(describing).components.sorted { $0.key < $1.key }.map {
        (name: $0.key, schema: $0.value)
    }

    private static let registered = Schema.component(
        "DeviceRegistered",
        .object([
            .required("device", .uuid), .required("device_token", .text), .required("app", .text),
            .optional("user_id", .text), .required("now", .time),
            .required(
                "model_keys",
                .list(
                    .component(
                        "DeviceModelKey", .object([.required("kid", .text), .required("public_key", .text)])))),
            .optional("application_server_key", .text),
        ]))

    private static func register(_ describing: Describing) -> APIOperation {
        APIOperation(
            id: "deviceRegister", method: .post, path: "\(base)/register", summary: "Register this device",
            text: "With the present `device_token`, the request is about the token's device.",
            body: APIBody(schema: DeviceShapes.registration.schema(describing), examples: [("ios", example)]),
            answers: [
                APIAnswer(201, "A new device.", registered), APIAnswer(200, "A known device.", registered),
            ], refusals: [.conflict])
    }

    private static let registration: [APIOperation] = [
        APIOperation(
            id: "deviceWebKey", method: .get, path: "\(base)/web", summary: "The app's newest VAPID key",
            answers: [
                APIAnswer(
                    200, "The key.",
                    .component("DeviceWebKey", .object([.required("application_server_key", .text)])))
            ], refusals: [.notFound]),
        APIOperation(
            id: "deviceShow", method: .get, path: "\(base)/registration", summary: "What the server stores about it",
            answers: [APIAnswer(200, "The device.", shown)], refusals: [.notFound]),
        APIOperation(
            id: "deviceUnregister", method: .delete, path: "\(base)/registration",
            summary: "Delete this device with everything that it reported", answers: [APIAnswer(204, "Deleted.")],
            refusals: [.notFound]),
        APIOperation(
            id: "deviceSubscribe", method: .put, path: "\(base)/topics/:topic", summary: "Subscribe to a topic",
            answers: [APIAnswer(204, "Subscribed.")], refusals: [.conflict]),
        APIOperation(
            id: "deviceUnsubscribe", method: .delete, path: "\(base)/topics/:topic",
            summary: "Unsubscribe from a topic", answers: [APIAnswer(204, "Not subscribed.")],
            refusals: [.conflict]),
    ]

    private static let moments: [APIOperation] = [
        APIOperation(
            id: "deviceSync", method: .post, path: "\(base)/sync", summary: "Exchange everything that is new",
            text: "Elements of `events` are `DeviceEvent`; an invalid one is refused alone.",
            body: APIBody(schema: DeviceShapes.sync.schema(describing), examples: [("empty", syncExample)]),
            answers: [APIAnswer(200, "Open messages, rules and refused events.", synced)]),
        APIOperation(
            id: "deviceClaim", method: .post, path: "\(base)/messages/:id/claim",
            summary: "Ask for the right to show a message now",
            body: APIBody(schema: DeviceShapes.claim.schema(describing), examples: [("first", claimExample)]),
            answers: [
                APIAnswer(
                    200, "Granted.",
                    .component(
                        "DeviceGrant",
                        .object([
                            .required("granted", .flag), .required("show_by", .time), .required("now", .time),
                        ]))),
                APIAnswer(
                    409, "Not granted.",
                    .component(
                        "DeviceDenial",
                        .object([
                            .required("granted", .flag),
                            .required(
                                "reason", .component("DeviceClaimRefusal", .words(MomentClaim.Refusal.self))),
                            .required("now", .time), .required("error", NativeDocument.error),
                        ]))),
            ]),
        APIOperation(
            id: "deviceModel", method: .get, path: "\(base)/model", summary: "The newest moment model",
            text: "A sync has new models too. Without a model, devices use the built-in one.",
            parameters: [
                .query("campaign", .text(0...Limits.nameCharactersMax), "The campaign; absent for all campaigns."),
                .header("If-None-Match", .text, "The `ETag` of an earlier answer."),
            ],
            answers: [
                APIAnswer(
                    200, "The signed file.", model,
                    headers: [(name: "ETag", schema: .text, text: "Identifies the content.")]),
                APIAnswer(304, "It has not changed."),
            ], refusals: [.notFound]),
        events("deviceMessageEvents", "\(base)/messages/:id/events", "Report what became of one message"),
        events("deviceEvents", "\(base)/events", "Report what happened on the device"),
    ]

    private static func events(_ id: String, _ path: String, _ summary: String) -> APIOperation {
        APIOperation(
            id: id, method: .post, path: path, summary: summary,
            text: "Elements are `DeviceEvent`; an invalid one is refused alone.",
            body: APIBody(
                schema: DeviceShapes.events.describe(describing), examples: [("opened", [eventExample])]),
            answers: [
                APIAnswer(
                    202, "Stored, except what is refused.",
                    .component(
                        "DeviceReported",
                        .object([.required("now", .time), .optional("refused", .list(refused))])))
            ])
    }

    private static let refused = Schema.component(
        "DeviceRefusedEvent",
        .object([.required("event_id", .text), .required("code", .text), .required("message", .text)]))

    private static let capabilities = Schema.component(
        "DeviceShownCapabilities",
        .object(DeviceShapes.capabilityNames.map { .required($0.0, .flag) }))

    private static let shown = Schema.component(
        "DeviceShown",
        .object(
            [
                .required("device", .uuid), .required("platform", .text), .optional("environment", .text),
                .required("address", .component("DeviceShownAddress", .any(of: [.text, .openObject]))),
                .required("topics", .list(.text)), .optional("identifiers", .component("DeviceShownIds", .map(.text))),
                .optional("attributes", .openObject), .required("capabilities", capabilities),
                .required("registered_at", .time),
            ]
                + [
                    "user_id", "locale", "time_zone", "os_version", "app_version", "sdk_version", "model",
                    "manufacturer",
                ].map { .optional($0, .text) }))

    private static let content = Schema.component(
        "DeviceContent",
        .object(
            ["title", "subtitle", "body", "image_url", "sound", "thread_id", "category"].map { .optional($0, .text) }
                + [
                    .optional("badge", .integer), .optional("data", .openObject),
                    .optional(
                        "interruption_level",
                        .component("DeviceInterruptionLevel", .words(DisplayContent.InterruptionLevel.self))),
                ]))

    private static let openMessage = Schema.component(
        "DeviceOpenMessage",
        .object([
            .required("id", .uuid), .required("rev", .count), .optional("campaign", .text),
            .required("claimable", .flag), .required("start", .time), .required("fallback_at", .time),
            .required("explore", .text), .required("salt", .text), .optional("transactional", .flag),
            .required("content", content),
        ]))

    private static let model = Schema.component(
        "DeviceModel",
        .object([
            .required("v", .count), .required("alg", .text), .required("kid", .text), .required("payload", .text),
            .required("sig", .text),
        ]))

    private static let synced = Schema.component(
        "DeviceSynced",
        .object([
            .required("now", .time), .required("messages", .list(openMessage)), .required("revoked", .list(.uuid)),
            .required("models", .list(model)),
            .required(
                "rules",
                .component(
                    "DeviceRules",
                    .object([
                        .optional("spacing_seconds", .count),
                        .optional(
                            "frequency_cap",
                            .component(
                                "DeviceFrequencyCap",
                                .object([.required("messages", .count), .required("hours", .count)]))),
                        .optional(
                            "quiet_hours",
                            .component(
                                "DeviceQuietHours", .object([.required("from", .text), .required("to", .text)]))),
                        .optional("wake_interval_seconds", .count),
                    ]))),
            .optional("refused", .list(refused)), .required("next", Schema.text.orNull),
        ]))

    private static let example: JSON = [
        "platform": "ios", "environment": "sandbox", "address": .string(String(repeating: "0b", count: 32)),
        "topics": ["news"], "locale": "de-AT", "time_zone": "Europe/Vienna",
        "capabilities": ["nse_ledger": true, "background": true, "alerts": true],
    ]
    private static let syncExample: JSON = [
        "device": "10000000-0000-4000-8000-000000000001", "have": ["models": [:], "msgs": [:]],
    ]
    private static let claimExample: JSON = [
        "device": "10000000-0000-4000-8000-000000000001", "claim_id": "20000000-0000-4000-8000-000000000002",
        "rev": 1, "score": .number("0.18"),
    ]
    private static let eventExample: JSON = [
        "event_id": "30000000-0000-4000-8000-000000000003", "message": "40000000-0000-4000-8000-000000000004",
        "type": "opened", "button": "like", "at": "2026-11-22T03:04:05.678Z",
    ]
}

extension DeviceDocument {
    private static let files: [APIOperation] = SDKFiles.files.map { file in
        let name = file.path.contains("worker") ? "Worker" : "Page"
        return APIOperation(
            id: "deviceSDK\(name)\(file.isVersioned ? "Versioned" : "")", method: .get, path: file.path,
            summary: name == "Worker" ? "The service worker of the SDK" : "The SDK for pages",
            parameters: [.header("If-None-Match", .text, "The `ETag` of an earlier answer.")],
            answers: [
                APIAnswer(
                    200, "The module.", .text, mediaType: "text/javascript",
                    headers: [(name: "ETag", schema: .text, text: "Identifies the content.")]),
                APIAnswer(304, "It has not changed."),
            ])
    }
}
