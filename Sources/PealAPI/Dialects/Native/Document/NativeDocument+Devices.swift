internal import HTTPTypes
internal import PealCore

extension NativeDocument {
    private static let device = "\(app)/devices/:id"
    private static let shown = APIAnswer(200, "The device.", .named("NativeDevice"))
    private static let made = APIAnswer(201, "The device, which is new.", .named("NativeDevice"))

    static let devices: [APIOperation] = [
        APIOperation(
            id: "putDevice", method: .put, path: device, summary: "Register or replace a device",
            body: APIBody(schema: .named("NativeDeviceDraft"), examples: [("ios", example)]),
            answers: [shown, made], refusals: [.conflict]),
        APIOperation(
            id: "createDevice", method: .post, path: "\(app)/devices", summary: "Register a device",
            text: "The id is made unless one is given.",
            body: APIBody(schema: .named("NativeDeviceWithID"), examples: [("ios", example)]),
            answers: [shown, made], namesIdempotencyKey: false),
        APIOperation(
            id: "registerDevices", method: .post, path: "\(app)/devices:batch",
            summary: "Register many devices in one transaction", text: "Good ones are stored, bad ones told.",
            body: APIBody(
                schema: .object([.required("devices", .list(.anything, 1...Limits.devicesPerBatchMax))]),
                examples: [("one", ["devices": [example]])]),
            answers: [
                APIAnswer(
                    200, "What became of each, in order.",
                    .object([.required("results", .list(.named("NativeBatchResult")))]))
            ]),
        APIOperation(
            id: "listDevices", method: .get, path: "\(app)/devices", summary: "List devices",
            parameters: page(.number) + [
                .query("user_id", .text, "Only this user's."), .query("topic", .text, "Only those of this topic."),
            ] + address, answers: [list(of: "NativeDevice")]),
        APIOperation(id: "getDevice", method: .get, path: device, summary: "Show a device", answers: [shown]),
        APIOperation(
            id: "changeDevice", method: .patch, path: device, summary: "Change a device",
            text: "What is not given stays; null clears. A retired device needs its address.",
            body: APIBody(schema: .named("NativeDeviceChange"), examples: [("user", ["user_id": "ann"])]),
            answers: [shown], refusals: [.conflict]),
        APIOperation(
            id: "deleteDevice", method: .delete, path: device, summary: "Delete a device",
            answers: [APIAnswer(204, "It is gone.")]),
        APIOperation(
            id: "subscribe", method: .put, path: "\(device)/topics/:topic", summary: "Subscribe a device to a topic",
            answers: [shown], refusals: [.conflict]),
        APIOperation(
            id: "unsubscribe", method: .delete, path: "\(device)/topics/:topic",
            summary: "Unsubscribe a device from a topic", answers: [APIAnswer(204, "It is not subscribed.")],
            refusals: [.conflict]),
        APIOperation(
            id: "eraseUser", method: .delete, path: "\(app)/users/:user",
            summary: "Erase a user's devices and history",
            answers: [
                APIAnswer(
                    200, "How many devices went.",
                    .object([.required("user_id", .text), .required("devices", .count)]))
            ]),
    ]

    /// By which an address in a query is meant.
    static let address: [APIParameter] = [
        .query(
            "address", .text(0...Limits.addressBytesMax, pattern: #"[!#-\[\]-~]*"#),
            "A device token, channel URI or Web Push endpoint."),
        .query("platform", platform, "Only addresses of this platform."),
        .query("environment", environment, "Only addresses of this environment."),
    ]

    private static let example: JSON = [
        "platform": "ios", "environment": "sandbox", "address": .string(String(repeating: "0a", count: 32)),
        "user_id": "ann", "topics": ["news"], "locale": "de-AT", "time_zone": "Europe/Vienna",
    ]

    static let topics: [APIOperation] = [
        APIOperation(
            id: "listTopics", method: .get, path: "\(app)/topics", summary: "List the topics that have not expired",
            parameters: page(.name), answers: [list(of: "NativeTopic")]),
        APIOperation(
            id: "getTopic", method: .get, path: "\(app)/topics/:topic", summary: "Show a topic",
            answers: [APIAnswer(200, "The topic.", .named("NativeTopic"))]),
        APIOperation(
            id: "putTopic", method: .put, path: "\(app)/topics/:topic", summary: "Make a topic or change its expiry",
            body: APIBody(schema: .object([.nullable("expires_at", future)]), isRequired: false),
            answers: [APIAnswer(200, "The topic.", .named("NativeTopic"))]),
        APIOperation(
            id: "deleteTopic", method: .delete, path: "\(app)/topics/:topic",
            summary: "Delete a topic with its subscriptions", answers: [APIAnswer(204, "It is gone.")]),
    ]
}
