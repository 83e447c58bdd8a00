internal import PealCore

/// The API of Pivotal Push 1.8. Backends call it with an application's key, devices with a platform's.
struct PivotalDialect: Dialect {
    let name = DialectName.pivotal
    let paths = ["/v1", "/v2", "/healthcheck"]
    let keys = [KeyKind.pivotalApplication, .pivotalPlatform]
    let envelope: any Envelope = PivotalEnvelope()

    func endpoints(_ services: APIServices) -> [Endpoint] { PivotalRoutes(services).all }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? { PivotalDocument.document }
}

extension DialectName {
    static let pivotal: DialectName = "pivotal"
    static let pivotalPlatform: DialectName = "pivotal-platform"
}

extension KeyKind {
    static let pivotalApplication = KeyKind(
        .pivotal, usualScopes: APIKey.Scope.usual, secret: ("api_key", .uuid), publicHalf: ("application_uuid", .uuid),
        sharedSecret: "shared_secret")

    static let pivotalPlatform = KeyKind(
        .pivotalPlatform, usualScopes: [.devices], secret: ("platform_secret", .uuid),
        publicHalf: ("platform_uuid", .uuid), namesPlatform: true)
}

extension Access {
    private static let application = Authentication(
        .pivotalApplication, .basic, needs: Authentication.pair,
        text: "Application UUID and API key: a key of dialect pivotal.")

    private static let platform = Authentication(
        .pivotalPlatform, .basic, needs: Authentication.pair,
        text: "Platform UUID and secret: a key of dialect pivotal-platform.")

    /// An application's key with that scope.
    static func pivotalApplication(_ scope: APIKey.Scope) -> Access { Access(application, .appOfKey(scope)) }

    /// A platform's key.
    static let pivotalPlatform = Access(platform, .appOfKey(.devices))
}
