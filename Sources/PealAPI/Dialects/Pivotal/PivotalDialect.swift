internal import HTTPTypes
package import PealCore
internal import PealShapes

/// The API of Pivotal Push 1.8. Backends authenticate with an application's key, devices with a platform's key.
struct PivotalDialect: Dialect {
    let name = DialectName.pivotal
    let paths = ["/v1", "/v2", "/healthcheck"]
    let keys = [KeyKind.pivotalApplication, .pivotalPlatform]
    let envelope: any Envelope = PivotalEnvelope()
    let settings = PivotalSettings.all

    func endpoints(_ services: APIServices) -> [Endpoint] { PivotalRoutes(services).all }

    func background(_ services: APIServices) -> [@Sendable () async -> Void] { [PivotalHeartbeat(services).run] }

    func document(at now: Timestamp, _ options: APIOptions) -> DialectDocument? {
        PivotalDocument.document(topicsPerDeviceMax: options.topicsPerDeviceMax)
    }
}

extension Policy {
    /// null keeps the stored value; "" clears it.
    static let pivotal = Policy(isTolerant: true, leavesNull: true)
}

extension DialectName {
    static let pivotal: DialectName = "pivotal"
    static let pivotalPlatform: DialectName = "pivotal-platform"
}

extension KeyKind {
    static let pivotalApplication = KeyKind(
        .pivotal, defaultScopes: APIKey.Scope.usual, secret: ("api_key", .uuid),
        publicHalf: ("application_uuid", .uuid), sharedSecret: "shared_secret")

    static let pivotalPlatform = KeyKind(
        .pivotalPlatform, defaultScopes: [.devices], secret: ("platform_secret", .uuid),
        publicHalf: ("platform_uuid", .uuid), namesPlatform: true)
}

extension Access {
    private static let application = Authentication(
        .pivotalApplication, .basic, needs: Authentication.pair,
        text: "Application UUID and API key: a key of dialect pivotal.", realm: "Push application")

    private static let platform = Authentication(
        .pivotalPlatform, .basic, needs: Authentication.pair,
        text: "Platform UUID and secret: a key of dialect pivotal-platform.", realm: "Push platform")

    /// An application's key with `scope`.
    static func pivotalApplication(_ scope: APIKey.Scope) -> Access { Access(application, .appOfKey(scope)) }

    /// A platform's key.
    static let pivotalPlatform = Access(platform, .appOfKey(.devices))
}

extension Call {
    /// The caller's key, and the platform that it is for.
    /// - Throws: `forbidden`, which cannot happen on a path of platforms.
    func platformKey() throws(PealError) -> (key: APIKey, platform: Platform) {
        guard let key = caller.key, let platform = key.platform else {
            throw PealError(.forbidden, "this endpoint requires a platform's key")
        }
        return (key, platform)
    }
}

/// The settings that an app has for its Pivotal clients.
enum PivotalSettings {
    /// Whether `custom_user_id` must be a signed token.
    static let verifyCustomUserID = Setting("pivotal", "verify_custom_user_id", default: true)
    /// Whether PUT of an unknown device creates it.
    static let upsertOnPut = Setting("pivotal", "upsert_on_put", default: true)
    /// Whether payloads carry `receiptId`.
    static let sendReceipt = Setting("pivotal", "send_receipt", default: true)
    /// Whether a `scheduleIn` beyond 30 days that divides by 1000 is read as milliseconds.
    static let scheduleInMillisHeuristic = Setting("pivotal", "schedule_in_millis_heuristic", default: false)
    /// Whether devices in the topic `pcf.push.heartbeat` get a push each minute.
    static let heartbeat = Setting("pivotal", "heartbeat", default: true)

    static let all: [any DeclaredSetting] = [
        verifyCustomUserID, upsertOnPut, sendReceipt, scheduleInMillisHeuristic, heartbeat,
    ]
}

extension Limits {
    package static let pivotalDevicesMax = 4096
    package static let pivotalUsersMax = 4096
    /// Pushes due sooner are sent immediately, by default.
    package static let pivotalImmediateSeconds: Int64 = 60
    /// The `apns-expiration` of a push without an expiry: the last second of a signed 32-bit clock.
    package static let pivotalExpirationSeconds: Int64 = 2_147_483_647
    package static let pivotalHeartbeatSeconds: Int64 = 60
}

/// The error body of the original Spring server: `{"timestamp","status","error","message","path"}`.
struct PivotalEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let status = HTTPResponse.Status(code: Self.status(of: error.code))
        var answer = Answer(
            status,
            [
                "timestamp": .integer(now.milliseconds), "status": .integer(status.code),
                "error": .string(Self.phrase(error.code)), "message": .string(error.messageNamingField),
                "path": .string(path),
            ])
        if error.code == .unauthorized {
            answer.headers[.wwwAuthenticate] = "Basic realm=\"\(error.realm ?? "Push")\""
        }
        return answer
    }

    /// The reason phrase of the status (RFC 9110 §15, RFC 6585 §4).
    private static func phrase(_ code: PealError.Code) -> String {
        switch status(of: code) {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: "Internal Server Error"
        }
    }
}

/// The names that a push's members have for the fields of a message.
enum PivotalSpelling {
    static func path(of field: MessageField) -> String {
        switch field {
        case .body: "message.body"
        case .content, .title, .subtitle, .imageURL, .badge, .sound, .threadID, .category, .data, .dataMember:
            "message"
        case .collapseKey(let platform): "\(object(platform ?? .android)).collapse_key"
        case .platform(let platform, _): object(platform)
        }
    }

    private static func object(_ platform: Platform) -> String { "message.custom.\(PivotalPlatform.os(platform))" }
}
