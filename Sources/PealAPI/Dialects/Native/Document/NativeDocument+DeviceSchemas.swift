internal import PealCore

extension NativeDocument {
    static let deviceSchemas: [(name: String, schema: Schema)] = [
        ("NativeDeviceDraft", draft([])), ("NativeDeviceWithID", draft([.nullable("id", .uuid)])),
        ("NativeDeviceChange", change), ("NativeDevice", shown),
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
        switch platform {
        case .ios:
            .text(
                pattern: "([0-9A-Fa-f]{2}){\(Limits.apnsTokenCharactersMin / 2),\(Limits.apnsTokenCharactersMax / 2)}")
        case .windows: channel("https", ".notify.windows.com")
        case .windowsPhone: channel("https?", ".notify.live.net")
        case .web: .named("NativeSubscription")
        default: .text(1...Limits.addressBytesMax, pattern: #"[!#-\[\]-~]+"#)
        }
    }

    /// A URI on a host of the vendor's; the configuration may allow others.
    private static func channel(_ scheme: String, _ suffix: String) -> Schema {
        let host = suffix.replacing(".", with: "\\.")
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

    private static let shown = Schema.object(
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
