internal import HTTPTypes
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
    let authorsNamePlatforms = true

    func endpoints(_ services: APIServices) -> [Endpoint] { ContextPushRoutes(services).all }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        ContextPushDocument.document(Describing(policy: ContextPushShapes.policy, now: now), options)
    }
}

extension DialectName {
    static let contextPush: DialectName = "contextpush"
}

extension KeyKind {
    static let contextPush = KeyKind(
        .contextPush, defaultScopes: [.send, .read], secret: ("token", .base64URL(prefix: "CTX-", byteCount: 32)),
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

/// `{"error":{"code","message","field"}}`, with status 422 for an unsupported platform.
struct ContextPushEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let isPlatform = error.field == "platform" && error.code == .notSupported
        let status = isPlatform ? 422 : Self.status(of: error.code)
        var answer = Answer(HTTPResponse.Status(code: status), ["error": NativeEnvelope.json(error)])
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Token realm=\"push\"" }
        return answer
    }

    /// The answer for a message whose state no longer allows it to be cancelled.
    static func tooLate(_ state: Moment.State) -> Answer {
        let word =
            switch state {
            case .claimed, .recovering: "claimed"
            case .sending, .sent: "sent"
            case .shown, .opened, .dismissed: "shown"
            case .open, .cancelled, .failed: state.name
            }
        return Answer(
            .conflict,
            [
                "error": [
                    "code": .string(PealError.Code.conflict.rawValue),
                    "message": .string("the message is \(word) and cannot be cancelled"), "state": .string(word),
                ]
            ])
    }
}

/// The names that a request's members have for the fields of a message. The payload is built from `content`.
enum ContextPushSpelling {
    static func path(of field: MessageField) -> String {
        switch field {
        case .content, .platform: "content"
        case .title: "content.title"
        case .subtitle: "content.subtitle"
        case .body: "content.body"
        case .imageURL: "content.imageUrl"
        case .badge: "content.badge"
        case .sound: "content.sound"
        case .threadID: "content.thread-id"
        case .category: "content.category"
        case .data: "content.userInfo"
        case .dataMember(let name): "content.userInfo.\(name)"
        // The collapse key is the message's own id, which fits every network.
        case .collapseKey: "idempotency_key"
        }
    }
}
