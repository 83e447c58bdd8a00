internal import HTTPTypes
internal import PealCore
internal import PealShapes

extension NativeDocument {
    private static let device = "\(app)/devices/:id"
    private static let shown = APIAnswer(200, "The device.", shownDevice)
    private static let made = APIAnswer(201, "The new device.", shownDevice)

    static let devices: [APIOperation] = [
        APIOperation(
            id: "putDevice", method: .put, path: device, summary: "Register or replace a device",
            body: APIBody(schema: NativeDeviceShapes.draft.schema(strict), examples: [("ios", example)]),
            answers: [shown, made], refusals: [.conflict]),
        APIOperation(
            id: "createDevice", method: .post, path: "\(app)/devices", summary: "Register a device",
            text: "Without an id, the server generates one.",
            body: APIBody(schema: NativeDeviceShapes.draftWithID.schema(strict), examples: [("ios", example)]),
            answers: [shown, made], namesIdempotencyKey: false),
        APIOperation(
            id: "registerDevices", method: .post, path: "\(app)/devices:batch",
            summary: "Register many devices in one transaction",
            text: "Stores the valid devices and reports the invalid ones.",
            body: APIBody(
                schema: NativeDevices.batch.schema(strict),
                examples: [("one", ["devices": [example]])]),
            answers: [
                APIAnswer(
                    200, "The result for each device, in order.",
                    .component("NativeBatchResults", .object([.required("results", .list(batchResult))])))
            ]),
        APIOperation(
            id: "listDevices", method: .get, path: "\(app)/devices", summary: "List devices",
            parameters: page(.number) + [
                .query("user_id", .text, "Only devices of this user."),
                .query("topic", .text, "Only devices in this topic."),
            ] + address, answers: [list(of: "NativeDevice", shownDevice)]),
        APIOperation(id: "getDevice", method: .get, path: device, summary: "Show a device", answers: [shown]),
        APIOperation(
            id: "changeDevice", method: .patch, path: device, summary: "Change a device",
            text: "Absent members keep their values; null clears. A retired device requires its address.",
            body: APIBody(
                schema: NativeDeviceShapes.change.schema(strict), examples: [("user", ["user_id": "ann"])]),
            answers: [shown], refusals: [.conflict]),
        APIOperation(
            id: "deleteDevice", method: .delete, path: device, summary: "Delete a device",
            answers: [APIAnswer(204, "Deleted.")]),
        APIOperation(
            id: "subscribe", method: .put, path: "\(device)/topics/:topic", summary: "Subscribe a device to a topic",
            answers: [shown], refusals: [.conflict]),
        APIOperation(
            id: "unsubscribe", method: .delete, path: "\(device)/topics/:topic",
            summary: "Unsubscribe a device from a topic",
            answers: [APIAnswer(204, "The device is not subscribed to the topic.")],
            refusals: [.conflict]),
        APIOperation(
            id: "eraseUser", method: .delete, path: "\(app)/users/:user",
            summary: "Erase a user's devices and history",
            answers: [
                APIAnswer(
                    200, "The number of deleted devices.",
                    .component(
                        "NativeErasure", .object([.required("user_id", .text), .required("devices", .count)])))
            ]),
    ]

    /// The parameters that identify a device by its address.
    static let address: [APIParameter] = [
        .query(
            "address", .text(0...Limits.addressBytesMax, pattern: #"[!#-\[\]-~]*"#),
            "A device token, channel URI or Web Push endpoint."),
        .query("platform", platform, "With `address`: only addresses of this platform."),
        .query("environment", environment, "With `address`: only addresses of this environment."),
    ]

    private static let example: JSON = [
        "platform": "ios", "environment": "sandbox", "address": .string(String(repeating: "0a", count: 32)),
        "user_id": "ann", "topics": ["news"], "locale": "de-AT", "time_zone": "Europe/Vienna",
    ]
}

extension NativeDocument {
    private static let batchResult = Schema.component(
        "NativeBatchResult",
        .one(of: [
            .component(
                "NativeBatchSuccess",
                .object([
                    .required("id", .uuid),
                    .required("status", .component("NativeBatchStatus", .words(["created", "updated"]))),
                ])),
            .component(
                "NativeBatchFailure", .object([.required("index", .count), .required("error", error)])),
        ]))

    private static let texts = ["os_version", "app_version", "alias", "model", "manufacturer", "vendor_os"]

    private static let shownAddress = Schema.component("NativeShownAddress", .any(of: [.text, .openObject]))

    private static let shownDevice = Schema.component(
        "NativeDevice",
        .object(
            [
                .required("id", .uuid), .required("platform", shownPlatform),
                .required("environment", shownEnvironment),
                .required("address", shownAddress), .required("user_id", Schema.text.orNull),
                .required("topics", .list(.text)), .required("locale", Schema.text.orNull),
                .required("time_zone", Schema.text.orNull),
                .optional("identifiers", .component("NativeShownIdentifiers", .map(.text))),
                .optional("attributes", .openObject),
                .required("state", .component("NativeDeviceState", .words(["active", "retired"]))),
                .required("registered_at", .time), .optional("retired_at", .time), .optional("retired_reason", .text),
            ] + texts.map { .optional($0, .text) }))
}
