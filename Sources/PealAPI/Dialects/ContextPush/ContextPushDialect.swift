package import PealCore
internal import PealShapes

/// The ContextPush API, which sends a message to one user at a good moment.
struct ContextPushDialect: Dialect {
    let name = DialectName.contextPush
    let paths = ["/v1/campaigns"]
    let keys = [KeyKind.contextPush]
    let envelope: any Envelope = ContextPushEnvelope()
    let reports: [any ReportComposer] = [ContextPushReport()]
    let settings: [any DeclaredSetting] = [
        Setting.experimentShare, Setting.experimentPerUser, Setting.appliesDecisions, Setting.windowGrace,
        Setting.alertsAllDevices,
    ]

    func endpoints(_ services: APIServices) -> [Endpoint] { ContextPushRoutes(services).all }

    func spelling(of field: MessageField) -> String { ContextPushSpelling.path(of: field) }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        ContextPushDocument.document(Describing(policy: ContextPushShapes.policy, now: now), options)
    }
}

extension DialectName {
    static let contextPush: DialectName = "contextpush"
}

extension KeyKind {
    static let contextPush = KeyKind(
        .contextPush, usualScopes: [.send, .read], secret: ("token", .base64URL(prefix: "CTX-", byteCount: 32)),
        isGrantable: true)
}

extension Access {
    private static let header = Authentication(
        .contextPush, .token, needs: "a valid key is required: Authorization: Token CTX-…",
        text: "`Token CTX-…`: a key of dialect contextpush.")

    /// A key with `scope`.
    static func contextPush(_ scope: APIKey.Scope) -> Access { Access(header, .appOfKey(scope)) }
}

extension Limits {
    package static let contextPushHoldSeconds: Int64 = 10
    package static let contextPushContentBytesMax = 48 * 1024
    package static let contextPushKeyBytesMax = 255
}
