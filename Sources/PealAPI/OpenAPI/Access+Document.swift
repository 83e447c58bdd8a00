internal import PealCore

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
