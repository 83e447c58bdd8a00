internal import HTTPTypes
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
        .devtodev, defaultScopes: [.send, .read], secret: ("user_token", .hex(byteCount: 32)), isSharedByApps: true,
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

/// `{"status_code","errors":[{"code","msg"}]}`; the status of the answer is the one in the body.
struct DevtodevEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let code = DevtodevCode(error)
        let status = code.status(of: error)
        var message = error.message
        if let field = error.field, !message.contains(field) { message = "\(field): \(message)" }
        var answer = Answer(
            HTTPResponse.Status(code: status),
            [
                "status_code": .integer(status),
                "errors": [["code": .integer(code.rawValue), "msg": .string(message)]],
            ])
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "UserToken realm=\"push\"" }
        return answer
    }
}

/// The errors with their own numbers, which are distinguished by their fields.
enum DevtodevRefusals {
    static let app = "app_id"
    static let audience = "audience"
    static let platforms = "ios, android, uwp or win"
    static let credentials = "credentials"
    static let hiddenSuffix = "options.hidden: true"

    static let noPlatform = PealError(.missingField, "the request must contain one of \(platforms)", field: platforms)

    static let packRepeated = PealError(
        .idempotencyMismatch, "this pack_id was used for a request with another body", field: "pack_id")

    static func notConfigured(_ names: [String]) -> PealError {
        PealError(
            .conflict, "the app has no credential for \(names.joined(separator: ", "))", field: credentials)
    }
}

/// The names that a request's members have for the fields of a message.
struct DevtodevSpelling {
    /// The name of the request's Windows object.
    let windowsName: String

    func path(of field: MessageField) -> String {
        guard let platform = field.platform else { return "payload" }
        if platform == .windows { return windowsName }
        if case .collapseKey = field { return "\(platform).options.collapse_key" }
        return "\(platform).payload"
    }
}

/// The numbers of refusals. The vendor's documents define none: these are Peal's own and never change.
enum DevtodevCode: Int {
    case malformedJSON = 1000
    case unknownUserToken = 1001
    case forbidden = 1002
    case unknownApp = 1003
    case noAudience = 1004
    case audienceTooLarge = 1005
    case noPlatform = 1006
    case invalidField = 1007
    case visibleHidden = 1008
    case packRepeated = 1009
    case notConfigured = 1010
    case payloadTooLarge = 1011
    case tooManyRequests = 1012
    case nothingHere = 1013
    case serverFailure = 1014

    init(_ error: PealError) {
        self =
            switch error.code {
            case .invalidJSON, .unsupportedMediaType: .malformedJSON
            case .unauthorized: .unknownUserToken
            case .forbidden: .forbidden
            case .notFound: error.field == DevtodevRefusals.app ? .unknownApp : .nothingHere
            case .methodNotAllowed: .nothingHere
            case .missingField, .invalidField, .unknownField, .notSupported: .init(ofField: error)
            case .idempotencyMismatch: .packRepeated
            case .conflict: error.field == DevtodevRefusals.credentials ? .notConfigured : .packRepeated
            case .payloadTooLarge, .bodyTooLarge: .payloadTooLarge
            case .rateLimited: .tooManyRequests
            case .unavailable, .internal: .serverFailure
            }
    }

    private init(ofField error: PealError) {
        switch error.field {
        case DevtodevRefusals.audience: self = error.code == .missingField ? .noAudience : .audienceTooLarge
        case DevtodevRefusals.platforms: self = .noPlatform
        case let field? where field.hasSuffix(DevtodevRefusals.hiddenSuffix): self = .visibleHidden
        default: self = .invalidField
        }
    }

    /// The HTTP status: by number if the number has one, otherwise by error.
    func status(of error: PealError) -> Int {
        switch self {
        case .notConfigured: 422
        case .payloadTooLarge: 413
        case .malformedJSON, .unknownUserToken, .forbidden, .unknownApp, .noAudience, .audienceTooLarge, .noPlatform,
            .invalidField, .visibleHidden, .packRepeated, .tooManyRequests, .nothingHere, .serverFailure:
            error.code.httpStatus
        }
    }
}
