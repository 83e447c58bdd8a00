internal import PealCore

/// Who may call an endpoint. Each dialect defines its own kinds of access next to its keys.
struct Access: Sendable {
    enum Role: Sendable {
        case admin
        /// The admin token or any key.
        case anyKey
        /// The admin token, or a key with that scope. The handler shows a key only its own app's data.
        case ownApps(APIKey.Scope)
        /// The admin token, or a key with that scope that belongs to the app in the path.
        case appInPath(APIKey.Scope)
        /// A key with that scope: the app follows from the key.
        case appOfKey(APIKey.Scope)
    }

    /// nil if everyone may call it.
    let authentication: Authentication?
    let role: Role

    init(_ authentication: Authentication, _ role: Role) {
        self.authentication = authentication
        self.role = role
    }

    private init() {
        authentication = nil
        role = .anyKey
    }

    static let everybody = Access()

    /// Whether the body may name the caller.
    var isInBody: Bool { if case .parameter = authentication?.scheme { true } else { false } }

    /// Whether only admins may call it.
    var isAdmins: Bool { if case .admin = role { true } else { false } }

    /// Whether callers must authenticate.
    var isGuarded: Bool { authentication != nil }

    /// The security requirement of OpenAPI: a scheme and the role that is needed. Empty if everyone may call it.
    var security: JSON {
        guard let authentication else { return [] }
        return [.object(JSON.Members([(authentication.name, .array(roles.map(JSON.string)))]))]
    }

    private var roles: [String] {
        switch role {
        case .admin: ["admin"]
        case .anyKey: []
        case .ownApps(let scope), .appInPath(let scope), .appOfKey(let scope): [scope.rawValue]
        }
    }

    /// How callers of these endpoints authenticate, by the name of the scheme.
    static func securitySchemes(of endpoints: [Endpoint]) -> JSON {
        var schemes: JSON.Members = .init()
        for authentication in endpoints.compactMap(\.access.authentication) {
            schemes[authentication.name] = authentication.securityScheme
        }
        return .object(schemes)
    }
}

/// How callers prove that they hold a key of one kind.
struct Authentication: Sendable {
    enum Scheme: Sendable {
        /// `Authorization: Bearer …`.
        case bearer
        /// `Authorization: Token …`.
        case token
        /// `Authorization: Basic …`, with the public half as user name.
        case basic
        /// A parameter of that name in the query or in the body; the body's member `app` names the app.
        case parameter(String, app: String)
        /// `Authorization: Bearer …` with the token of one device, which a key of the kind issued.
        case deviceToken
    }

    /// In the OpenAPI document.
    let name: String
    let key: KeyKind
    let scheme: Scheme
    /// Whether the admin token opens these paths too.
    let admitsAdmin: Bool
    /// The answer to callers without a valid key.
    let refusal: PealError
    /// For the OpenAPI document.
    let text: String

    /// - Parameters:
    ///   - name: nil for the name of the kind of key.
    ///   - needs: the message of the refusal.
    ///   - realm: the name in the challenge, if the dialect has several.
    init(
        _ key: KeyKind, _ scheme: Scheme, name: String? = nil, admitsAdmin: Bool = false, needs: String, text: String,
        realm: String? = nil
    ) {
        self.name = name ?? key.name.rawValue
        self.key = key
        self.scheme = scheme
        self.admitsAdmin = admitsAdmin
        var field: String?
        if case .parameter(let name, _) = scheme { field = name }
        var refusal = PealError(.unauthorized, needs, field: field)
        refusal.realm = realm
        self.refusal = refusal
        self.text = text
    }

    /// The refusal if a pair is required.
    static let pair = "a valid name and secret are needed: Authorization: Basic …"

    var securityScheme: JSON {
        switch scheme {
        case .bearer, .deviceToken: ["type": "http", "scheme": "bearer", "description": .string(text)]
        case .token: ["type": "apiKey", "in": "header", "name": "Authorization", "description": .string(text)]
        case .basic: ["type": "http", "scheme": "basic", "description": .string(text)]
        case .parameter(let name, _):
            ["type": "apiKey", "in": "query", "name": .string(name), "description": .string(text)]
        }
    }
}
