internal import PealCore
internal import PealShapes

/// Peal's own API.
struct NativeDialect: Dialect {
    let name = DialectName.native
    let paths = ["/"]
    let keys = [KeyKind.native]
    let envelope: any Envelope = NativeEnvelope()
    let reports: [any ReportComposer] = [NativeReport()]
    let authorsNamePlatforms = true
    let mediaTypes = MediaType.Tolerance.none
    let takesIdempotencyKey = true

    func endpoints(_ services: APIServices) -> [Endpoint] { NativeRoutes(services).all }

    func spelling(of field: MessageField) -> String { NativeSpelling.path(of: field) }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? { NativeDocument.document(at: now) }
}

extension DialectName {
    static let native: DialectName = "native"
}

extension Policy {
    /// Types are strict, and undeclared members are refused.
    static let native = Policy(refusesUnknown: true)
}

extension KeyKind {
    static let native = KeyKind(
        .native, usualScopes: APIKey.Scope.usual, secret: ("token", .base64URL(prefix: "peal_", byteCount: 32)))
}

extension Access {
    private static let key = Authentication(
        .native, .bearer, admitsAdmin: true, needs: "a valid key is required: Authorization: Bearer …",
        text: "The admin token, or a key of dialect native, whose scopes are the roles.")

    /// Requires the admin token.
    static let admin = Access(key, .admin)
    /// Requires the admin token or any native key. The handler shows a key only its own app's data.
    static let anyNative = Access(key, .anyKey)

    /// Requires the admin token, or a native key with `scope` for the app in the path.
    static func app(_ scope: APIKey.Scope) -> Access { Access(key, .appInPath(scope)) }
}
