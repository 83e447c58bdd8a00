internal import PealCore
internal import PealShapes

/// The Richie Push API.
struct RichieDialect: Dialect {
    let name = DialectName.richie
    let paths = ["/push"]
    let keys = [KeyKind.richie]
    let envelope: any Envelope = RichieEnvelope()

    func endpoints(_ services: APIServices) -> [Endpoint] { RichieRoutes(services).all }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        RichieDocument.document(Describing(policy: .tolerant, now: now), options)
    }
}

extension DialectName {
    static let richie: DialectName = "richie"
}

extension KeyKind {
    static let richie = KeyKind(
        .richie, usualScopes: [.send, .read], secret: ("password", .hex(byteCount: 32)),
        publicHalf: ("username", .hex(prefix: "peal-", byteCount: 8)))
}

extension Access {
    private static let userName = Authentication(
        .richie, .basic, needs: Authentication.pair, text: "User name and password: a key of dialect richie.")

    /// A key with that scope.
    static func richie(_ scope: APIKey.Scope) -> Access { Access(userName, .appOfKey(scope)) }
}
