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
