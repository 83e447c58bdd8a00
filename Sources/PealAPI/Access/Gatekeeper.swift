internal import HTTPTypes
internal import PealCore

/// Tells who calls and whether they may: 401 for who cannot prove anything, 403 for who may not do this.
struct Gatekeeper: Sendable {
    let services: APIServices
    let ring: KeyRing

    init(_ services: APIServices) {
        self.services = services
        ring = services.keyRing
    }

    private static let loneSecret: [APIKey.Dialect] = [.contextpush, .devtodev, .device]
    private static let withName: [APIKey.Dialect] = [.richie, .pivotal, .pivotalPlatform]

    func admit(
        _ headers: HTTPFields, _ access: Access, parameters: [String: String], now: Timestamp
    ) async throws -> Caller {
        switch access {
        case .everybody, .userToken: return Caller(identity: .nobody)
        case .admin:
            let caller = try await native(headers, now: now)
            guard caller.isAdmin else { throw PealError(.forbidden, "only the admin token may do this") }
            return caller
        case .anyNative: return try await native(headers, now: now)
        case .app(let scope):
            let caller = try await native(headers, now: now)
            let admitted = try await within(parameters["app"] ?? "", caller)
            try Self.require(scope, of: caller)
            return admitted
        case .contextpush(let scope):
            let caller = try await contextPush(headers, now: now)
            try Self.require(scope, of: caller)
            return caller
        case .pivotalApplication(let scope):
            let caller = try await named(.pivotal, headers, now: now)
            try Self.require(scope, of: caller)
            return caller
        case .pivotalPlatform:
            let caller = try await named(.pivotalPlatform, headers, now: now)
            try Self.require(.devices, of: caller)
            return caller
        case .richie(let scope):
            let caller = try await named(.richie, headers, now: now)
            try Self.require(scope, of: caller)
            return caller
        }
    }

    /// Whether the headers hold the admin token: operations show more to it.
    func isAdmin(_ headers: HTTPFields) -> Bool {
        guard case .bearer(let secret) = Authorization(headers[.authorization]) else { return false }
        return ConstantTime.areEqual(services.hasher.hash(secret), services.adminTokenHash)
    }

    private func native(_ headers: HTTPFields, now: Timestamp) async throws -> Caller {
        if isAdmin(headers) { return Caller(identity: .admin) }
        switch Authorization(headers[.authorization]) {
        case .bearer(let secret):
            if let key = try await ring.key([.native], secret: secret, now: now) {
                return Caller(identity: .key(key))
            }
            if try await ring.key(Self.loneSecret, secret: secret, now: now) != nil { throw Self.wrongDialect }
        case .token(let secret):
            if try await ring.key(Self.loneSecret, secret: secret, now: now) != nil { throw Self.wrongDialect }
        case .basic(let name, let secret):
            if try await ring.key(Self.withName, publicHalf: name, secret: secret, now: now) != nil {
                throw Self.wrongDialect
            }
        case nil: break
        }
        throw PealError(.unauthorized, "a valid key is needed: Authorization: Bearer …")
    }

    private func contextPush(_ headers: HTTPFields, now: Timestamp) async throws -> Caller {
        switch Authorization(headers[.authorization]) {
        case .token(let secret):
            if let key = try await ring.key([.contextpush], secret: secret, now: now) {
                let app = try await services.store.read { try $0.app(key: key.key.app) }
                guard let app else { break }
                return Caller(identity: .key(key), app: app)
            }
            if try await ring.key([.native] + Self.loneSecret, secret: secret, now: now) != nil {
                throw Self.wrongDialect
            }
        case .bearer(let secret):
            if isAdmin(headers) { throw Self.wrongDialect }
            // Its own key would open it, by its own scheme: that is 401.
            if try await ring.key([.native, .devtodev, .device], secret: secret, now: now) != nil {
                throw Self.wrongDialect
            }
        case .basic(let name, let secret):
            if try await ring.key(Self.withName, publicHalf: name, secret: secret, now: now) != nil {
                throw Self.wrongDialect
            }
        case nil: break
        }
        throw PealError(.unauthorized, "a valid key is needed: Authorization: Token CTX-…")
    }

    /// The holder of a key with a public half, within its app.
    private func named(_ dialect: APIKey.Dialect, _ headers: HTTPFields, now: Timestamp) async throws -> Caller {
        switch Authorization(headers[.authorization]) {
        case .basic(let name, let secret):
            if let key = try await ring.key([dialect], publicHalf: name, secret: secret, now: now) {
                let app = try await services.store.read { try $0.app(key: key.key.app) }
                guard let app else { break }
                return Caller(identity: .key(key), app: app)
            }
            if try await ring.key(Self.withName, publicHalf: name, secret: secret, now: now) != nil {
                throw Self.wrongDialect
            }
        case .bearer(let secret), .token(let secret):
            if isAdmin(headers) { throw Self.wrongDialect }
            if try await ring.key([.native] + Self.loneSecret, secret: secret, now: now) != nil {
                throw Self.wrongDialect
            }
        case nil: break
        }
        throw PealError(.unauthorized, "a valid name and secret are needed: Authorization: Basic …")
    }

    static let wrongDialect = PealError(.forbidden, "this key does not open this path")

    /// The caller within the app that the path names. To a key every app but its own is forbidden, whether it exists
    /// or not.
    private func within(_ name: String, _ caller: Caller) async throws -> Caller {
        var caller = caller
        let id = AppID(name)
        if let key = caller.key {
            caller.app = try await services.store.read { try $0.app(key: key.app) }
            guard let app = caller.app, app.id == id else {
                throw PealError(.forbidden, "this key belongs to another app")
            }
        } else {
            guard let id else { throw PealError.notFound("app") }
            caller.app = try await services.store.read { try $0.app(id) }
            guard caller.app != nil else { throw PealError.notFound("app") }
        }
        return caller
    }

    static func require(_ scope: APIKey.Scope, of caller: Caller) throws(PealError) {
        guard caller.scopes.contains(scope) else {
            throw PealError(.forbidden, "this key lacks the scope \(scope.rawValue)")
        }
    }
}

extension Gatekeeper {
    /// Admits a `devtodev` key with the right to send. Of several apps that have the secret it is the key of `app`.
    /// - Throws: `unauthorized` where no key has the secret; `forbidden` for another dialect's key, the admin token, or
    ///   a key without that right.
    func admit(userToken: String?, for app: App?, now: Timestamp) async throws -> Caller {
        guard let userToken else { throw PealError(.unauthorized, "user_token is required", field: "user_token") }
        if let key = try await devtodevKey(userToken, of: app?.key, now: now) {
            guard let app = try await services.store.read({ try $0.app(key: key.key.app) }) else {
                throw Self.unknownUserToken
            }
            let caller = Caller(identity: .key(key), app: app)
            try Self.require(.send, of: caller)
            return caller
        }
        let isAdmin = ConstantTime.areEqual(services.hasher.hash(userToken), services.adminTokenHash)
        let others: [APIKey.Dialect] = [.native, .contextpush, .device]
        if isAdmin { throw Self.wrongDialect }
        if try await ring.key(others, secret: userToken, now: now) != nil { throw Self.wrongDialect }
        throw Self.unknownUserToken
    }

    private func devtodevKey(_ secret: String, of app: AppKey?, now: Timestamp) async throws -> StoredKey? {
        let first = try await ring.key([.devtodev], secret: secret, now: now)
        guard let app, first?.key.app != app else { return first }
        return try await ring.sharedKey(secret: secret, of: app, now: now) ?? first
    }

    private static let unknownUserToken = PealError(.unauthorized, "user_token is unknown", field: "user_token")
}

/// The Authorization header. The scheme's letter case does not matter, nor how much white space follows it: real
/// clients send two spaces.
enum Authorization: Equatable {
    case bearer(String)
    /// ContextPush's own scheme: `Token CTX-…`.
    case token(String)
    case basic(name: String, secret: String)

    /// nil for another scheme or a value that is none.
    init?(_ header: String?) {
        guard let header else { return nil }
        let parts = header.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard parts.count == 2 else { return nil }
        let value = String(parts[1].drop(while: \.isWhitespace)).trimmedEnd
        guard !value.isEmpty else { return nil }
        switch parts[0].lowercased() {
        case "bearer": self = .bearer(value)
        case "token": self = .token(value)
        case "basic":
            guard let bytes = Base64URL.decode(value), let text = String(validating: bytes, as: UTF8.self),
                let colon = text.firstIndex(of: ":")
            else { return nil }
            self = .basic(name: String(text[..<colon]), secret: String(text[text.index(after: colon)...]))
        default: return nil
        }
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

/// Who is calling, proved.
struct Caller: Sendable {
    enum Identity: Sendable {
        case nobody
        case admin
        case key(StoredKey)
    }

    let identity: Identity
    /// The key's app, or the one that the admin named in the path.
    var app: App?

    /// What the audit shows.
    var name: String {
        switch identity {
        case .nobody: "nobody"
        case .admin: "admin"
        case .key(let stored): stored.key.id.description
        }
    }

    var isAdmin: Bool { if case .admin = identity { true } else { false } }

    var key: APIKey? { if case .key(let stored) = identity { stored.key } else { nil } }

    /// The rights to pass on.
    var scopes: Set<APIKey.Scope> { isAdmin ? Set(APIKey.Scope.allCases) : key?.scopes ?? [] }
}
