package import PealCore
internal import PealShapes

/// The devtodev Push API. Its documents name no media type, and its clients send none or any.
struct DevtodevDialect: Dialect {
    let name = DialectName.devtodev
    let paths = ["/api", "/v1/devtodev"]
    let keys = [KeyKind.devtodev]
    let envelope: any Envelope = DevtodevEnvelope()
    let namesApps = true
    let deviceIdentifiers = [DeviceIdentifier.Kind.devtodev]
    let authorsNamePlatforms = true
    let mediaTypes = MediaType.Tolerance.everything

    func endpoints(_ services: APIServices) -> [Endpoint] { DevtodevRoutes(services).all }

    func spelling(of field: MessageField) -> String { DevtodevSpelling().path(of: field) }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        DevtodevDocument.document(Describing(policy: .tolerant, now: now))
    }
}

extension DeviceIdentifier.Kind {
    static let devtodev = DeviceIdentifier.Kind(rawValue: "devtodev_id")
}

extension DialectName {
    static let devtodev: DialectName = "devtodev"
}

extension KeyKind {
    static let devtodev = KeyKind(
        .devtodev, usualScopes: [.send, .read], secret: ("user_token", .hex(byteCount: 32)), isSharedByApps: true,
        isGrantable: true)
}

extension Access {
    private static let key = Authentication(
        .devtodev, .parameter("user_token", app: "app_id"), needs: "user_token is unknown",
        text: "A key of dialect devtodev. It may be in the body instead.")

    /// A key in the query or in the body: the handler reads it and admits the caller.
    static let userToken = Access(key, .appOfKey(.send))
}

extension Limits {
    package static let devtodevAudienceMax = 1000
    /// The lifetime of a push that does not state one.
    package static let devtodevLifeSeconds: Int64 = 7 * 24 * 3600
    package static let devtodevCollapseKeyBytesMax = 64
    /// How long a repeated `pack_id` gets the first answer.
    package static let devtodevPackSeconds: Int64 = 600
    /// How long a request waits for the push networks' answers.
    package static let devtodevAnswerSeconds: Int64 = 30
    package static let devtodevPollMillisecondsMin: Int64 = 10
    package static let devtodevPollMillisecondsMax: Int64 = 250
    package static let devtodevCategoriesCachedSeconds = 3600
}
