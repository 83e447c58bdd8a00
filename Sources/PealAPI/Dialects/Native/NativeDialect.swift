internal import HTTPTypes
package import PealCore
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

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        NativeDocument.document(at: now, topicsPerDeviceMax: options.topicsPerDeviceMax)
    }
}

extension DialectName {
    static let native: DialectName = "native"
}

extension Policy {
    /// Types are strict, and undeclared members are refused.
    static let native = Policy(refusesUnknown: true)
    /// The same for a new object: null is no value there, and clears nothing.
    static let nativeDraft = Policy(leavesNull: true, refusesUnknown: true)
}

extension KeyKind {
    static let native = KeyKind(
        .native, defaultScopes: APIKey.Scope.usual, secret: ("token", .base64URL(prefix: "peal_", byteCount: 32)))
}

extension Access {
    private static let key = Authentication(
        .native, .bearer, admitsAdmin: true, needs: "a valid key is required: Authorization: Bearer …",
        text: "The admin token, or a key of dialect native, whose scopes are the roles.")

    /// Requires the admin token.
    static let admin = Access(key, .admin)
    /// Requires the admin token or any native key.
    static let anyNative = Access(key, .anyKey)
    /// Requires the admin token, or a native key with the scope `read`. The handler shows a key only its own app.
    static let ownApps = Access(key, .ownApps(.read))

    /// Requires the admin token, or a native key with `scope` for the app in the path.
    static func app(_ scope: APIKey.Scope) -> Access { Access(key, .appInPath(scope)) }
}

extension PealError {
    /// The native body of an error that is answered outside the API, such as at the door.
    package func nativeBody(requestID: String) -> [UInt8] {
        let document: JSON = ["error": NativeEnvelope.json(self, requestID: requestID)]
        return document.bytes
    }
}

/// `{"error":{"code","message","field","request_id","doc_url"}}`.
struct NativeEnvelope: Envelope {
    /// The error without the request that it answers.
    static func json(_ error: PealError) -> JSON { .compact(members(error)) }

    static func json(_ error: PealError, requestID: String) -> JSON {
        .compact(
            members(error) + [
                ("request_id", .string(requestID)), ("doc_url", .string(ErrorPage.url(of: error.code))),
            ])
    }

    private static func members(_ error: PealError) -> [(String, JSON?)] {
        [
            ("code", .string(error.code.rawValue)), ("message", .string(error.message)),
            ("field", error.field.map(JSON.string)),
        ]
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        answer(error, path: path, now: now, requestID: "")
    }

    func answer(_ error: PealError, path: String, now: Timestamp, requestID: String) -> Answer {
        var answer = Answer(
            HTTPResponse.Status(code: error.code.httpStatus), ["error": Self.json(error, requestID: requestID)])
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Bearer realm=\"peal\"" }
        return answer
    }
}

/// The paths that a message's fields have in the native API's requests.
enum NativeSpelling {
    static func path(of field: MessageField) -> String {
        switch field {
        case .content: "content"
        case .title: "content.title"
        case .subtitle: "content.subtitle"
        case .body: "content.body"
        case .imageURL: "content.image_url"
        case .badge: "content.badge"
        case .sound: "content.sound"
        case .threadID: "content.thread_id"
        case .category: "content.category"
        case .data: "content.data"
        case .dataMember(let name): "content.data.\(name)"
        case .collapseKey(let platform): platform.map { "content.\($0).options.collapse_key" } ?? "options.collapse_key"
        case .platform(let platform, let path): path.isEmpty ? "content.\(platform)" : "content.\(platform).\(path)"
        }
    }
}
