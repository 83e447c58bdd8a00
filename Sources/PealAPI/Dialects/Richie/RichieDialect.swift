internal import HTTPTypes
package import PealCore
internal import PealShapes

/// The Richie Push API.
struct RichieDialect: Dialect {
    let name = DialectName.richie
    let paths = ["/push"]
    let keys = [KeyKind.richie]
    let envelope: any Envelope = RichieEnvelope()
    let reports: [any ReportComposer] = [RichieReport()]
    let settings = RichieSettings.all
    let namesApps = true
    let authorsNamePlatforms = true

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
        .richie, defaultScopes: [.send, .read], secret: ("password", .hex(byteCount: 32)),
        publicHalf: ("username", .hex(prefix: "peal-", byteCount: 8)), isGrantable: true)
}

extension Access {
    private static let userName = Authentication(
        .richie, .basic, needs: Authentication.pair, text: "User name and password: a key of dialect richie.")

    /// A key with `scope`.
    static func richie(_ scope: APIKey.Scope) -> Access { Access(userName, .appOfKey(scope)) }
}

/// The settings that an app has for its Richie clients.
enum RichieSettings {
    /// Whether bodies may have trailing commas, missing commas and comments, as the vendor's examples do.
    static let lenientJSON = Setting("richie", "lenient_json", default: true)
    /// Whether links may use http.
    static let allowHTTPLinks = Setting("richie", "allow_http_links", default: false)

    static let all: [any DeclaredSetting] = [lenientJSON, allowHTTPLinks]
}

extension Limits {
    package static let richieTopicsMax = 1000
    package static let richieUsersMax = 10_000
    /// The limit for each platform's payload in a task, as compact JSON.
    package static let richiePayloadBytesMax = 4096
}

/// The error body of this API: `{"error":"…"}`, one sentence that names the invalid field.
struct RichieEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        var answer = Answer(
            HTTPResponse.Status(code: error.code.httpStatus), ["error": .string(error.messageNamingField)])
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Basic realm=\"Richie Push\"" }
        return answer
    }
}

/// The names that a task's members have for the fields of a message. Each platform has its own payload.
enum RichieSpelling {
    static func path(of field: MessageField) -> String {
        field.platform == .android ? "payloads.android" : "payloads.ios"
    }
}
