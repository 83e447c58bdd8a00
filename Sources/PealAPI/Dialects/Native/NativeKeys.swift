internal import HTTPTypes
internal import PealCore

/// Keys: made (the secret is shown this once), listed, revoked.
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
        let draft = try Self.draft(try Fields(try call.object()), now: call.now)
        guard draft.scopesInForce.isSubset(of: call.caller.scopes) else {
            throw PealError(.forbidden, "a key grants no scope that it lacks", field: "scopes")
        }
        let reply = try await services.keys.create(draft, app: try call.app().key, call.verb) { made in
            let key = made.stored.key
            let shown = Self.facts(key) + Self.values(made)
            let repetition: JSON = ["id": .string(key.id.description), "secret_shown": true]
            return Reply(
                status: 201, body: JSON.compact(shown).bytes,
                repetition: .init(status: 200, body: repetition.bytes))
        }
        services.keyRing.forget()
        return Answer(reply)
    }

    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let keys = try await services.store.read { try $0.keys(app: app) }
        return Answer(
            .ok,
            [
                "items": .array(keys.map { .compact(Self.facts($0) + [Self.publicHalf($0)]) }), "next_cursor": .null,
            ])
    }

    private func revoke(_ call: Call) async throws -> Answer {
        try await services.keys.revoke(try call.id("id", of: "key"), app: try call.app().key, call.verb)
        services.keyRing.forget()
        return Answer(.noContent)
    }

    private static func draft(_ fields: Fields, now: Timestamp) throws(PealError) -> KeyDraft {
        guard let name = try fields.choice("dialect", of: keyKindNames), let kind = Dialects.key(.init(rawValue: name))
        else { throw .missing("dialect") }
        var draft = KeyDraft(rules: kind.rules)
        draft.scopes = try scopes(fields)
        if let end = try fields.time("expires_at") {
            guard end > now else { throw .invalid("expires_at", "expires_at must lie in the future") }
            draft.expiresAt = end
        }
        if kind.namesPlatform {
            guard let platform = try fields.platform() else { throw .missing("platform") }
            draft.platform = platform
            draft.environment = try fields.environment() ?? .production
        }
        if let name = kind.publicHalf { draft.publicHalf = try ascii(fields, name, without: ":") }
        draft.secret = try ascii(fields, kind.secret)
        if let name = kind.sharedSecret { draft.sharedSecret = try hex(fields, name) }
        return draft
    }

    private static func scopes(_ fields: Fields) throws(PealError) -> Set<APIKey.Scope>? {
        guard let list = try fields.list("scopes", countMax: APIKey.Scope.allCases.count) else { return nil }
        var scopes: Set<APIKey.Scope> = []
        for (value, path) in list {
            guard let scope = value.stringValue.flatMap(APIKey.Scope.init(rawValue:)) else {
                throw .invalid(
                    path, "\(path) must be one of \(APIKey.Scope.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            scopes.insert(scope)
        }
        guard !scopes.isEmpty else { throw .invalid("scopes", "scopes must name one at least") }
        return scopes
    }

    /// Printable ASCII without spaces: what stands in an Authorization header as it is.
    private static func ascii(
        _ fields: Fields, _ name: String, without excluded: Character? = nil
    ) throws(PealError) -> String? {
        guard let text = try fields.text(name) else { return nil }
        guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), excluded.map({ !text.contains($0) }) ?? true else {
            throw .invalid(name, "\(name) must be printable ASCII without spaces\(excluded.map { " and \($0)" } ?? "")")
        }
        return text
    }

    private static func hex(_ fields: Fields, _ name: String) throws(PealError) -> String? {
        guard let text = try fields.text(name) else { return nil }
        guard let bytes = Hex.decode(text), (16...64).contains(bytes.count) else {
            throw .invalid(name, "\(name) must be 16 to 64 bytes in hexadecimal digits")
        }
        return text
    }

    private static func facts(_ key: APIKey) -> [(String, JSON?)] {
        [
            ("id", .string(key.id.description)), ("dialect", .string(key.dialect.rawValue)),
            ("scopes", .array(APIKey.Scope.allCases.filter(key.scopes.contains).map { .string($0.rawValue) })),
            ("platform", key.platform.map { .string($0.rawValue) }),
            ("environment", key.environment.map { .string($0.rawValue) }),
            ("created_at", .string(key.createdAt.description)),
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

extension NativeDocument {
    static let keys: [APIOperation] = [
        APIOperation(
            id: "createKey", method: .post, path: "\(app)/keys", summary: "Make a key; its secret is shown this once",
            text: "Values may be brought along, so that clients move by host name alone.",
            body: APIBody(
                schema: .named("NativeKeyDraft"),
                examples: [("native", ["dialect": "native", "scopes": ["send", "read"]])]),
            answers: [
                APIAnswer(201, "The key with its values.", .named("NativeKey")),
                APIAnswer(
                    200, "The repetition of a request: the secret is not shown again.",
                    .object([.required("id", .uuid), .required("secret_shown", .flag)])),
            ], namesIdempotencyKey: false),
        APIOperation(
            id: "listKeys", method: .get, path: "\(app)/keys", summary: "List the keys without their secrets",
            answers: [
                APIAnswer(
                    200, "All of them.",
                    .object([
                        .required("items", .list(.named("NativeKey"))),
                        .required("next_cursor", Schema([("type", "null")])),
                    ]))
            ]),
        APIOperation(
            id: "revokeKey", method: .delete, path: "\(app)/keys/:id", summary: "Revoke a key at once",
            answers: [APIAnswer(204, "It opens nothing any more.")]),
    ]

    static let keySchemas: [(name: String, schema: Schema)] = [
        ("NativeKeyDraft", .one(of: Dialects.keys.map(draft))),
        (
            "NativeKey",
            .object([
                .required("id", .uuid), .required("dialect", .words(keyKindNames)),
                .required("scopes", .list(.words(APIKey.Scope.self))), .optional("platform", platform),
                .optional("environment", .words(Environment.self)), .required("created_at", .time),
                .required("expires_at", Schema.time.orNull),
            ])
        ),
    ]

    /// Printable ASCII without blanks: what stands in an Authorization header.
    private static let value = Schema.text(1...Limits.nameCharactersMax, pattern: "[!-~]+")
    /// The first of a pair: without a colon too.
    private static let publicHalf = Schema.text(1...Limits.nameCharactersMax, pattern: "[!-9;-~]+")
    private static let sharedSecret = Schema.text(pattern: "([0-9A-Fa-f]{2}){16,64}")

    private static func draft(_ kind: KeyKind) -> Schema {
        var properties: [Property] = [
            .required("dialect", .word(kind.name.rawValue)),
            .nullable("scopes", .list(.words(APIKey.Scope.self), 1...APIKey.Scope.allCases.count)),
            .nullable("expires_at", future),
        ]
        if kind.namesPlatform {
            properties += [.required("platform", platform), .nullable("environment", environment)]
        }
        if let name = kind.publicHalf { properties.append(.nullable(name, publicHalf)) }
        properties.append(.nullable(kind.secret, value))
        if let name = kind.sharedSecret { properties.append(.nullable(name, sharedSecret)) }
        return .object(properties)
    }
}
