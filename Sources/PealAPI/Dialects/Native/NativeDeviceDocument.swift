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
}

extension NativeDocument {
    static let deviceSchemas: [(name: String, schema: Schema)] = [
        ("NativeDeviceDraft", draft([])), ("NativeDeviceWithID", draft([.nullable("id", .uuid)])),
        ("NativeDeviceChange", change), ("NativeDevice", shownDevice),
        ("NativeSubscription", subscription),
        (
            "NativeBatchResult",
            .one(of: [
                .object([.required("id", .uuid), .required("status", .words(["created", "updated"]))]),
                .object([.required("index", .count), .required("error", .object)]),
            ])
        ),
        (
            "NativeTopic",
            .object([.required("name", .text), .required("devices", .count), .optional("expires_at", .time)])
        ),
    ]

    /// The form of an address on each platform.
    static func address(_ platform: Platform) -> Schema {
        let route = Route(platform, .production)
        return switch route.addressForm {
        case .deviceToken:
            .text(
                pattern: "([0-9A-Fa-f]{2}){\(Limits.apnsTokenCharactersMin / 2),\(Limits.apnsTokenCharactersMax / 2)}")
        case .uri: endpoint(route.provider?.network.hosts)
        case .subscription: .named("NativeSubscription")
        case .opaque, .channel: .text(1...Limits.addressBytesMax, pattern: #"[!#-\[\]-~]+"#)
        }
    }

    /// A URI on a host of the vendor's; the configuration may allow others.
    private static func endpoint(_ policy: Network.HostPolicy?) -> Schema {
        let scheme = policy?.allowsClear == true ? "https?" : "https"
        let hosts = (policy?.own ?? []).map { $0.replacing(".", with: "\\.") }
        let host = hosts.count == 1 ? hosts[0] : "(\(hosts.joined(separator: "|")))"
        return .text(
            1...Limits.endpointURIBytesMax,
            pattern: "\(scheme)://([A-Za-z0-9-]{1,63}\\.)*[A-Za-z0-9-]{1,63}\(host)([/?]\(EndpointURI.pattern))?")
    }

    /// A browser's subscription (RFC 8030, RFC 8291).
    private static let subscription = Schema.object([
        .required("endpoint", .text(1...Limits.endpointURIBytesMax, pattern: "https?://\(EndpointURI.pattern)")),
        .required(
            "keys",
            .object([
                .required("p256dh", .text(pattern: "B[A-Za-z0-9+/_-]{86}=?").described("A point of P-256.")),
                .required("auth", .text(pattern: "[A-Za-z0-9+/_-]{22}(==)?")),
            ])),
        .nullable(
            "application_server_key",
            .text(pattern: "[A-Za-z0-9+/_-]{87}=?").described("A VAPID key of the app; the newest unless given.")),
    ])

    private static let texts = ["os_version", "app_version", "alias", "model", "manufacturer", "vendor_os"]

    private static let facts: [Property] =
        [
            .nullable("user_id", name),
            .nullable("topics", .list(name, 0...Limits.topicsPerDeviceMax)),
            .nullable("locale", .text(1...Limits.localeCharactersMax, pattern: "[A-Za-z0-9_-]+")),
            .nullable("time_zone", .text(1...Limits.timeZoneCharactersMax, pattern: "[A-Za-z0-9/_+-]+")),
            .nullable("identifiers", .object(DeviceIdentifier.Kind.allCases.map(identifier))),
            .nullable(
                "attributes", Schema.object.described("At most \(Limits.attributesBytesMax) bytes of compact JSON.")),
        ] + texts.map { .nullable($0, name) }

    private static func identifier(_ kind: DeviceIdentifier.Kind) -> Property {
        let number = Schema.integer(Int64.min...Int64.max)
        return .nullable(kind.rawValue, kind == .devtodevID ? .any(of: [name, number]) : name)
    }

    private static func draft(_ more: [Property]) -> Schema {
        let places = Platform.addressable.map { platform in
            Schema.object([
                .required("platform", .word(platform.rawValue)), .required("address", address(platform)),
            ])
        }
        return .all(of: [.object([.nullable("environment", environment)] + more + facts), .one(of: places)])
    }

    private static let change = Schema.object(
        [
            .nullable("platform", platform), .nullable("environment", environment),
            .nullable("address", .any(of: Platform.addressable.map(address))),
        ] + facts)

    private static let shownDevice = Schema.object(
        [
            .required("id", .uuid), .required("platform", .words(Platform.self)),
            .required("environment", .words(Environment.self)),
            .required("address", .any(of: [.text, .object])), .required("user_id", Schema.text.orNull),
            .required("topics", .list(.text)), .required("locale", Schema.text.orNull),
            .required("time_zone", Schema.text.orNull), .optional("identifiers", .map(.text)),
            .optional("attributes", .object), .required("state", .words(["active", "retired"])),
            .required("registered_at", .time), .optional("retired_at", .time), .optional("retired_reason", .text),
        ] + texts.map { .optional($0, .text) })
}

extension EndpointURI {
    /// What RFC 3986 lets stand in path and query, as a regular expression of ECMA-262.
    fileprivate static let pattern = #"[A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]*"#
}
