internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// Keys: create (the only answer that contains the secret), list and revoke.
struct NativeKeys: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.post, "\(app)/keys", .app(.manage), create),
            Endpoint(.get, "\(app)/keys", .app(.manage), list),
            Endpoint(.delete, "\(app)/keys/:id", .app(.manage), revoke),
        ]
    }

    private func create(_ call: Call) async throws -> Answer {
        let draft = try call.body(NativeKeyShapes.draft, .native)
        guard draft.effectiveScopes.isSubset(of: call.caller.scopes) else {
            throw PealError(.forbidden, "a key cannot grant a scope that it lacks", field: "scopes")
        }
        let own = try call.app().id
        guard call.caller.isAdmin || draft.apps.allSatisfy({ $0 == own }) else {
            throw PealError(.forbidden, "only an admin may grant a key to other apps", field: "apps")
        }
        let weak = Self.weakValue(draft)
        if let weak, !call.caller.isAdmin {
            throw PealError.invalid(
                weak, "\(weak) is too easy to guess; let the server generate it, or ask an admin to create the key")
        }
        let reply = try await services.verbs.keys.create(draft, app: try call.app().key, call.verb) { made in
            let key = made.stored.key
            return .showingOnce(.compact(Self.facts(key) + Self.values(made)), id: key.id.description)
        }
        var answer = Answer(reply)
        if let weak {
            answer.warn(["\(weak) is easy to guess; replace this key after the migration"])
        }
        return answer
    }

    /// The given value that is easy to guess: only an admin may supply one, for clients that cannot change.
    private static func weakValue(_ draft: KeyDraft) -> String? {
        let kind = Dialects.key(draft.rules.dialect)
        let given = [(kind?.secret, draft.secret), (kind?.sharedSecret, draft.sharedSecret)]
        return given.first { $1.map { !SecretStrength.isStrong($0) } ?? false }.flatMap { $0.0 }
    }

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let page = try NativeList(call.query, by: .id)
        try await AccessRecorder(services).write()
        let (keys, isComplete) = try await services.store.checkedList { store, _ in try store.keys(app: app) }
        return page.answer(ofAll: keys, isComplete: isComplete, by: \.id) {
            .compact(Self.facts($0) + [Self.publicHalf($0)])
        }
    }

    private func revoke(_ call: Call) async throws -> Answer {
        try await services.verbs.keys.revoke(try call.id("id", of: "key"), app: try call.app().key, call.verb)
        return Answer(.noContent)
    }

    private static func facts(_ key: APIKey) -> [(String, JSON?)] {
        [
            ("id", .string(key.id.description)), ("dialect", .string(key.dialect.rawValue)),
            ("name", key.name.map(JSON.string) ?? .null),
            ("scopes", .array(APIKey.Scope.allCases.filter(key.scopes.contains).map { .string($0.rawValue) })),
            ("platform", key.platform.map { .string($0.rawValue) }),
            ("apps", key.apps.isEmpty ? nil : .array(key.apps.map { .string($0.id.description) })),
            ("environment", key.environment.map { .string($0.rawValue) }),
            ("created_at", .string(key.createdAt.description)),
            ("created_by", key.createdBy.map(JSON.string) ?? .null),
            ("last_used_at", key.lastUsedAt.map { .string($0.description) } ?? .null),
            ("expires_at", key.expiresAt.map { .string($0.description) } ?? .null),
        ]
    }

    private static func publicHalf(_ key: APIKey) -> (String, JSON?) {
        (Dialects.key(key.dialect)?.publicHalf ?? "public_half", .string(key.publicHalf))
    }

    private static func values(_ made: KeyVerbs.Made) -> [(String, JSON?)] {
        guard let kind = Dialects.key(made.stored.key.dialect) else { return [] }
        return [
            (kind.publicHalf ?? "", kind.publicHalf.map { _ in .string(made.stored.key.publicHalf) }),
            (kind.secret, .string(made.secret)),
            (kind.sharedSecret ?? "", made.stored.sharedSecret.map(JSON.string)),
        ]
    }
}

/// The shape of a request to create a key.
enum NativeKeyShapes {
    /// Each dialect's keys have their own values.
    static let draft = Shape<KeyDraft>.tagged(
        "NativeKeyDraft", by: "dialect", Dialects.keys.map { ($0.name.rawValue, draft($0).shape) })

    private static func draft(_ kind: KeyKind) -> ObjectShape<KeyDraft> {
        var start = KeyDraft(rules: kind.rules)
        if kind.namesPlatform { start.environment = .production }
        return ObjectShape("Native\(component(kind.name))KeyDraft", start) {
            Entry(tag: "dialect", kind.name.rawValue)
            Entry("name", name) { $0.name = $1 }
            Entry("scopes", scopes) { $0.scopes = $1 }
            Entry("expires_at", .future) { $0.expiresAt = $1 }
            if kind.rules.isGrantable { Entry("apps", apps) { $0.apps = $1 ?? [] } }
            if kind.namesPlatform {
                Entry(required: "platform", NativeShapes.platform) { $0.platform = $1 }
                Entry("environment", NativeShapes.environment) { $0.environment = $1 ?? .production }
            }
            if let name = kind.publicHalf { Entry(name, publicHalf) { $0.publicHalf = $1 } }
            Entry(kind.secret, kind.publicHalf == nil ? secret : secondHalf) { $0.secret = $1 }
            if let name = kind.sharedSecret { Entry(name, sharedSecret) { $0.sharedSecret = $1 } }
        }
    }

    private static func component(_ dialect: DialectName) -> String {
        dialect.rawValue.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static let apps = Shape.list(Shape<AppID>.id(), max: Limits.keyAppsMax).described(
        "Further apps that the key may be used for; requests name the app. Only admins may grant other apps.")

    /// A display name.
    static let name = Shape.text()

    private static let scopes = Shape.list(
        .words("NativeScope", APIKey.Scope.allCases), min: 1, max: APIKey.Scope.allCases.count,
        refusingEmpty: "must name at least one"
    ).map { Set($0) }

    /// A secret that an Authorization header can contain unchanged.
    private static let secret = Shape.text().matching("[!-~]+", "must be printable ASCII without spaces") {
        $0.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
    }

    /// The first half of a pair, which ends at the colon.
    private static let publicHalf = half(
        "[!-9;-~]([ -9;-~]*[!-9;-~])?", "must be printable ASCII without colons or surrounding spaces", except: ":")

    private static let secondHalf = half(
        "[!-~]([ -~]*[!-~])?", "must be printable ASCII without surrounding spaces")

    /// One half of a pair, which Basic authentication encodes, so that it may contain spaces.
    private static func half(_ pattern: String, _ message: String, except: String = "") -> Shape<String> {
        Shape.text().matching(pattern, message) { text in
            text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && !except.utf8.contains($0) }
                && text.utf8.first != 0x20 && text.utf8.last != 0x20
        }
    }

    private static let sharedSecret = Shape.text().matching(
        "([0-9A-Fa-f]{2}){16,64}", "must be 16 to 64 bytes in hexadecimal digits"
    ) {
        Hex.decode($0).map { (16...64).contains($0.count) } ?? false
    }
}

extension NativeDocument {
    static func keys(_ describing: Describing) -> [APIOperation] {
        [
            APIOperation(
                id: "createKey", method: .post, path: "\(app)/keys",
                summary: "Create a key; the secret is shown only once",
                text: "You may supply the values, so that existing clients need only a new host name. "
                    + "A secret that is easy to guess is accepted from admins only, with a `Warning`.",
                body: APIBody(
                    schema: NativeKeyShapes.draft.describe(describing),
                    examples: [("native", ["dialect": "native", "scopes": ["send", "read"]])]),
                answers: [
                    APIAnswer(201, "The key with its values.", key),
                    APIAnswer(
                        200, "The answer to a repeated request, without the secret.",
                        .component(
                            "NativeKeyRepetition",
                            .object([.required("id", .uuid), .required("secret_shown", .flag)]))),
                ], namesIdempotencyKey: false),
            APIOperation(
                id: "listKeys", method: .get, path: "\(app)/keys", summary: "List the keys without their secrets",
                parameters: page(.id), answers: [list(of: "NativeKey", key)]),
            APIOperation(
                id: "revokeKey", method: .delete, path: "\(app)/keys/:id", summary: "Revoke a key",
                answers: [APIAnswer(204, "Revoked, effective immediately.")]),
        ]
    }

    private static let key = Schema.component(
        "NativeKey",
        .object(
            [
                .required("id", .uuid), .required("dialect", dialect),
                .required("scopes", .list(.component("NativeScope", .words(APIKey.Scope.self)))),
                .optional("platform", NativeShapes.platform.describe(strict)),
                .optional("environment", shownEnvironment),
                .optional("apps", .list(.uuid)),
                .required("name", Schema.text.orNull), .required("created_at", .time),
                .required("created_by", Schema.text.orNull), .required("last_used_at", Schema.time.orNull),
                .required("expires_at", Schema.time.orNull),
            ]
                + ["username", "application_uuid", "platform_uuid", "public_half"].map { name in
                    .optional(name, Schema.text)
                }
                + ["token", "user_token", "password", "api_key", "platform_secret", "shared_secret"].map { name in
                    .optional(name, Schema.text.described("Shown only when the key is created."))
                }))
}

extension Reply {
    /// An answer with a secret. The answer to a repeated request lacks it.
    /// - Parameter id: of what was created, which both answers name.
    static func showingOnce(_ shown: JSON, id: String? = nil, status: Int = 201) -> Reply {
        let repetition = JSON.compact([("id", id.map(JSON.string)), ("secret_shown", true)])
        return Reply(status: status, body: shown.bytes, repetition: repetition.bytes)
    }
}
