internal import PealCore

/// Who may call an endpoint.
enum Access: Sendable {
    case everybody
    /// Only the admin token.
    case admin
    /// The admin token, or any native key: the handler shows each only its own.
    case anyNative
    /// The admin token, or a native key with that right, within the app that the path names.
    case app(APIKey.Scope)
    /// A `contextpush` key with that right.
    case contextpush(APIKey.Scope)
    /// A `pivotal` key (application id and API key) with that right.
    case pivotalApplication(APIKey.Scope)
    /// A `pivotal-platform` key (platform id and secret).
    case pivotalPlatform
    /// A `richie` key (user name and password) with that right.
    case richie(APIKey.Scope)
    /// A `devtodev` key. Its secret stands in the query or in the body, so the handler admits the caller.
    case userToken

    /// What bodies may be called. devtodev's documents name no type, and its clients none or any.
    var mediaTypes: MediaType.Tolerance {
        switch self {
        case .contextpush, .pivotalApplication, .pivotalPlatform, .richie: .clients
        case .userToken: .everything
        default: .none
        }
    }

    /// Whether `Idempotency-Key` is honoured: the native API's promise.
    var isIdempotent: Bool {
        switch self {
        case .admin, .anyNative, .app: true
        default: false
        }
    }
}

extension Access {
    /// Whether anything must be shown.
    var isGuarded: Bool { if case .everybody = self { false } else { true } }

    /// The security requirement of OpenAPI: a scheme and the role that is needed. Empty for everybody.
    var security: JSON {
        switch self {
        case .everybody: []
        case .admin: Self.requirement("native", "admin")
        case .anyNative: Self.requirement("native", nil)
        case .app(let scope): Self.requirement("native", scope.rawValue)
        case .contextpush(let scope): Self.requirement("contextpush", scope.rawValue)
        case .richie(let scope): Self.requirement("richie", scope.rawValue)
        case .pivotalApplication(let scope): Self.requirement("pivotal", scope.rawValue)
        case .pivotalPlatform: Self.requirement("pivotal-platform", APIKey.Scope.devices.rawValue)
        case .userToken: Self.requirement("devtodev", APIKey.Scope.send.rawValue)
        }
    }

    private static func requirement(_ scheme: String, _ role: String?) -> JSON {
        [.object(JSON.Members([(scheme, .array(role.map { [.string($0)] } ?? []))]))]
    }

    /// How each scheme shows who calls.
    static let securitySchemes: JSON = [
        "native": [
            "type": "http", "scheme": "bearer",
            "description": "The admin token, or a key of dialect native, whose scopes are the roles.",
        ],
        "contextpush": [
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "`Token CTX-…`: a key of dialect contextpush.",
        ],
        "richie": [
            "type": "http", "scheme": "basic",
            "description": "User name and password: a key of dialect richie.",
        ],
        "pivotal": [
            "type": "http", "scheme": "basic",
            "description": "Application UUID and API key: a key of dialect pivotal.",
        ],
        "pivotal-platform": [
            "type": "http", "scheme": "basic",
            "description": "Platform UUID and secret: a key of dialect pivotal-platform.",
        ],
        "devtodev": [
            "type": "apiKey", "in": "query", "name": "user_token",
            "description": "A key of dialect devtodev. It may stand in the body instead.",
        ],
    ]
}
