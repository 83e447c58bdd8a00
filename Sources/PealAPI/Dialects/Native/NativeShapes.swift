package import PealCore
internal import PealShapes

/// The shapes that several requests of the native API share.
enum NativeShapes {
    static let platform = Shape<Platform>.words(
        "NativePlatform", Platform.addressable.map { ($0.rawValue, $0) })

    /// Also accepts Apple's older word for the sandbox.
    static let environment = Shape<Environment>.words(
        "NativeEnvironment", environmentNames, expected: "production or sandbox")

    private static let environmentNames: [(String, Environment)] = [
        ("production", .production), ("sandbox", .sandbox), ("development", .sandbox),
    ]

    /// A device token, a channel URI or a Web Push subscription. `AddressRules` reads it once the platform is known.
    static let address = Shape<JSON>(
        read: { json, reading throws(PealError) in
            guard json.objectValue != nil, reading.policy.refusesUnknown else { return json }
            _ = try subscriptionMembers.read(json, &reading)
            return json
        },
        describe: { describing in
            .one(of: [.text(1...Limits.addressBytesMax, pattern: #"[!#-\[\]-~]+"#), subscription(describing)])
        })

    /// The members that a subscription may have. Browsers also write `expirationTime`, which is ignored.
    private static let subscriptionMembers = ObjectShape("NativeSubscriptionMembers", JSON.Members()) {
        for name in ["endpoint", "application_server_key", "expirationTime"] { Entry(known: name) }
        Entry("keys", subscriptionKeyMembers) { _, _ in }
    }.shape

    private static let subscriptionKeyMembers = ObjectShape("NativeSubscriptionKeyMembers", JSON.Members()) {
        for name in ["p256dh", "auth"] { Entry(known: name) }
    }.shape

    /// A browser's subscription (RFC 8030, RFC 8291).
    private static func subscription(_ describing: Describing) -> Schema {
        func object(_ name: String, _ properties: [Property]) -> Schema {
            let schema = Schema.object(properties)
            guard describing.policy.refusesUnknown else { return .component("Device\(name)", schema) }
            return .component("Native\(name)", schema.with("additionalProperties", false))
        }
        let keys = object(
            "SubscriptionKeys",
            [
                .required("p256dh", .text(pattern: "B[A-Za-z0-9+/_-]{86}=?").described("A point of P-256.")),
                .required("auth", .text(pattern: "[A-Za-z0-9+/_-]{22}(==)?")),
            ])
        return object(
            "Subscription",
            [
                .required("endpoint", .text(1...Limits.endpointURIBytesMax, pattern: "https?://\(uriPattern)")),
                .required("keys", keys),
                .nullable(
                    "application_server_key",
                    .text(pattern: "[A-Za-z0-9+/_-]{87}=?")
                        .described("A VAPID key of the app. Defaults to the newest.")),
                .optional("expirationTime", Schema.anything.described("From the browser; ignored.")),
            ])
    }

    /// Requires the address to have the form of its platform.
    static func addressForm<Root>() -> Rule<Root> {
        Rule(violation: { describing in
            let violations = Platform.addressable.map { platform -> JSON in
                [
                    "properties": [
                        "platform": ["const": .string(platform.rawValue)],
                        "address": ["not": address(on: Route(platform, .production), describing).json],
                    ]
                ]
            }
            return ["required": ["platform", "address"], "anyOf": .array(violations)]
        }) { _, _, _ in }
    }

    /// Refuses the sandbox of a platform whose network has none.
    static func environmentOfPlatform<Root>(
        _ given: @escaping @Sendable (Root) -> (Platform?, Environment?)
    ) -> Rule<Root> {
        Rule(violation: { _ in
            let platforms = Platform.addressable.filter { !has(.sandbox, $0) }.map { JSON.string($0.rawValue) }
            let names = environmentNames.filter { $0.1 == .sandbox }.map { JSON.string($0.0) }
            return [
                "required": ["platform", "environment"],
                "properties": ["platform": ["enum": .array(platforms)], "environment": ["enum": .array(names)]],
            ]
        }) { root, _, reading throws(PealError) in
            guard case (let platform?, let environment?) = given(root) else { return }
            try check(environment, of: platform, at: reading.path("environment"))
        }
    }

    /// Checks the environment. Every platform has `production`, which exports contain.
    /// - Throws: `invalid_field` for the sandbox of a platform whose network has none.
    static func check(_ environment: Environment, of platform: Platform, at path: String) throws(PealError) {
        guard !has(environment, platform) else { return }
        throw .invalid(path, "\(path) must be production or null on \(platform.rawValue)")
    }

    private static func has(_ environment: Environment, _ platform: Platform) -> Bool {
        Route(platform, environment).environment == environment
    }

    private static func address(on route: Route, _ describing: Describing) -> Schema {
        switch route.addressForm {
        case .deviceToken:
            .text(
                pattern: "([0-9A-Fa-f]{2}){\(Limits.apnsTokenCharactersMin / 2),\(Limits.apnsTokenCharactersMax / 2)}")
        case .uri: route.hosts.map(channel) ?? .text
        case .subscription: subscription(describing)
        case .opaque, .channel: .text
        }
    }

    /// A URI on one of the vendor's hosts; the configuration may allow others.
    private static func channel(_ policy: Network.HostPolicy) -> Schema {
        let hosts = policy.own.map { host in
            (host.hasPrefix(".") ? "([A-Za-z0-9-]{1,63}\\.)*[A-Za-z0-9-]{1,63}" : "")
                + host.replacing(".", with: "\\.")
        }
        let host = hosts.count == 1 ? hosts[0] : "(\(hosts.joined(separator: "|")))"
        return .text(
            1...Limits.endpointURIBytesMax,
            pattern: "\(policy.allowsClear ? "https?" : "https")://\(host)([/?]\(uriPattern))?")
    }

    /// The characters that RFC 3986 allows in path and query, as a regular expression (ECMA-262).
    private static let uriPattern = #"[A-Za-z0-9._~:/?@!$&'()*+,;=%\[\]-]*"#
}

extension Shape where Value == Timestamp {
    /// A time in the future.
    static let future = Shape.time.checked { time, reading throws(PealError) in
        guard time > reading.now else { throw reading.refusal("must be in the future") }
        return time
    }.described { .future(after: $0.now) }
}

extension NativeReader {
    /// Reads with the shapes of the native API.
    /// - Parameters:
    ///   - providers: check the addresses that a message names.
    ///   - lifeSecondsMax: the lifetime of a message without an expiry.
    ///   - rules: returns the current rules for addresses.
    package static func shapes(
        providers: [ProviderName: any Provider] = [:], lifeSecondsMax: Int64 = Limits.messageLifeSecondsDefault,
        rules: @escaping @Sendable () -> AddressRules
    ) -> NativeReader {
        NativeReader(
            condition: { json, now throws(PealError) in
                try NativeSegments.draft.value(of: ["where": json], .native, now: now)
            },
            message: { json, id, app, store, now in
                let facts = try SendingFacts(app, store)
                let reader = NativeMessageReader(
                    app, facts.credentials, rules: rules(), providers: providers, lifeSecondsMax: lifeSecondsMax)
                return try reader.draft(of: json, facts, id: id, now: now)
            },
            device: { json, id, now throws(PealError) in
                let draft = try NativeDeviceShapes.draftWithID.value(of: json, .native, now: now)
                return try draft.registration(id: draft.id ?? id, rules())
            },
            authentication: { json, now throws(PealError) in
                try NativeWebhookShapes.authentication.value(of: json, .native, now: now)
            })
    }
}
