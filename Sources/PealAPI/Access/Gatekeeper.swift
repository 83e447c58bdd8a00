internal import HTTPTypes
internal import PealCore

/// Authenticates callers and checks their rights: 401 without a valid key, 403 with a key that lacks the right.
struct Gatekeeper: Sendable {
    let services: APIServices
    let ring: KeyRing

    init(_ services: APIServices) {
        self.services = services
        ring = services.keyRing
    }

    /// - Parameters:
    ///   - parameters: those of the path.
    ///   - visit: learns who the caller is.
    func admit(
        _ headers: HTTPFields, _ access: Access, parameters: [String: String], _ visit: Visit
    ) async throws -> Caller {
        guard let authentication = access.authentication else { return Caller(identity: .anonymous) }
        // The handler reads the query or the body, and admits the caller by its secret.
        if case .parameter = authentication.scheme { return Caller(identity: .anonymous) }
        let shown = AuthorizationHeader(headers[.authorization])
        if case .deviceToken = authentication.scheme { return try await device(shown, authentication, visit) }
        var caller = try await caller(shown, authentication, visit)
        switch access.role {
        case .anyKey: break
        case .ownApps(let scope): try Self.require(scope, of: caller)
        case .admin:
            guard caller.isAdmin else { throw PealError(.forbidden, "only an admin may do this") }
        case .appInPath(let scope):
            caller = try await within(parameters["app"] ?? "", caller, for: scope)
            try Self.require(scope, of: caller)
        case .appOfKey(let scope):
            caller = try await withinOwnApp(caller, authentication, for: scope)
            try Self.require(scope, of: caller)
        }
        return caller
    }

    /// Admits the holder of a secret from the query or the body. If several apps have keys with it, the key of `app`
    /// counts.
    /// - Throws: `unauthorized` when no key has the secret; `forbidden` for the key of another dialect, the admin
    ///   token, or a key without the scope.
    func admit(secret: String?, _ access: Access, for app: App?, _ visit: Visit) async throws -> Caller {
        guard let authentication = access.authentication, case .appOfKey(let scope) = access.role else {
            return Caller(identity: .anonymous)
        }
        let name = authentication.key.secret
        guard let secret else { throw PealError(.unauthorized, "\(name) is required", field: name) }
        let attempt = AuthenticationFailures.Attempt(address: visit.address, keyName: nil, shown: secret)
        try check(attempt, visit)
        guard let key = try await key(authentication.key, secret: secret, of: app?.key, now: visit.at) else {
            if let admin = try await admin(secret) { throw misplaced(admin, visit) }
            try await refuseOthers(.token(secret), authentication, visit)
            try failed(attempt, visit)
            throw authentication.refusal
        }
        services.failures.succeeded(attempt)
        recognize(Caller(identity: .key(key)), visit)
        if visit.isFirst(.request(key.key.id)) { try services.quotas.spend(key.key) }
        let caller = try await withinOwnApp(Caller(identity: .key(key)), authentication, named: app, for: scope)
        visit.admitted(caller)
        try Self.require(scope, of: caller)
        return caller
    }

    /// Checks who is sending a body before more than its beginning is received: a key must have the secret that the
    /// query or the beginning of the body names. An empty secret in the body counts as none.
    /// - Parameter secretMayFollow: a body that has not named a secret or an app yet may do so later: members have no
    ///   order.
    /// - Returns: whether the caller is admitted; false if its secret or its app may follow.
    /// - Throws: as `admit(secret:…)`.
    func admitUnread(
        _ beginning: [UInt8], query: Query, _ access: Access, _ visit: Visit, secretMayFollow: Bool
    ) async throws -> Bool {
        guard let authentication = access.authentication, case .parameter(let name, let appName) = authentication.scheme
        else { return true }
        let members = JSONPeek.scalars([name, appName], in: beginning)
        let own = members[name].flatMap { $0.isEmpty ? nil : $0 }
        let secret = own ?? query[name]
        // The body's own secret takes precedence, and another app's key may have the same one: both may follow.
        if secretMayFollow, own == nil || members[appName] == nil {
            guard let secret else { return false }
            let attempt = AuthenticationFailures.Attempt(address: visit.address, keyName: nil, shown: secret)
            try check(attempt, visit)
            guard let first = try await key(authentication.key, secret: secret, of: nil, now: visit.at) else {
                // The rest may never be sent, so a guess counts now.
                if own != nil, !services.failures.knows(attempt) { try failed(attempt, visit) }
                return false
            }
            guard Self.allows(access, first) else { return false }
        }
        let dialect = authentication.key.name
        let app = try await services.store.read { store in
            try members[appName].flatMap { try store.app(named: $0, in: dialect) }
        }
        _ = try await admit(secret: secret, access, for: app, visit)
        return true
    }

    /// Calls `AuthenticationFailures.check` unless the attempt has already failed in the same request.
    private func check(_ attempt: AuthenticationFailures.Attempt, _ visit: Visit) throws(PealError) {
        if !visit.wasCharged(.failure(attempt.shown)) { try services.failures.check(attempt) }
    }

    /// Counts an attempt once for each request.
    private func failed(_ attempt: AuthenticationFailures.Attempt, _ visit: Visit) throws(PealError) {
        if visit.isFirst(.failure(attempt.shown)) { try services.failures.failed(attempt) }
    }

    private static func allows(_ access: Access, _ key: StoredKey) -> Bool {
        guard case .appOfKey(let scope) = access.role else { return true }
        return key.key.scopes.contains(scope)
    }

    /// Whether the headers contain an admin's token: health checks show more to admins.
    func isAdmin(_ headers: HTTPFields, from address: ClientAddress) async -> Bool {
        guard case .bearer(let secret) = AuthorizationHeader(headers[.authorization]) else { return false }
        let attempt = AuthenticationFailures.Attempt(address: address, keyName: nil, shown: secret)
        guard (try? services.failures.check(attempt)) != nil else { return false }
        do {
            let isAdmin = try await admin(secret) != nil
            if isAdmin { services.failures.succeeded(attempt) } else { try services.failures.failed(attempt) }
            return isAdmin
        } catch {
            // A store that does not respond says nothing about the token.
            return false
        }
    }

    private func admin(_ shown: AuthorizationHeader) async throws -> Caller? {
        guard case .bearer(let secret) = shown else { return nil }
        return try await admin(secret)
    }

    /// The admin with that token; nil if there is none.
    private func admin(_ secret: String) async throws -> Caller? {
        let first = await services.firstAdmin.hash(services.store)
        if ConstantTime.areEqual(services.hasher.hash(secret), first) { return Caller(identity: .admin(nil)) }
        return try await ring.admin(secret: secret).map { Caller(identity: .admin($0)) }
    }

    /// Records who is calling, before deciding whether the caller is authorized.
    private func recognize(_ caller: Caller, _ visit: Visit) {
        visit.admitted(caller)
        services.usage.note(caller, at: visit.at)
    }

    /// The error for a caller whose key is valid, but not for this path. The audit log names the caller.
    private func misplaced(_ caller: Caller, _ visit: Visit) -> PealError {
        recognize(caller, visit)
        return PealError(.forbidden, "this key is for another API; use a key of the dialect of this path")
    }

    private func caller(
        _ shown: AuthorizationHeader?, _ authentication: Authentication, _ visit: Visit
    ) async throws -> Caller {
        guard let shown else { throw authentication.refusal }
        let attempt = shown.attempt(from: visit.address)
        try services.failures.check(attempt)
        if let admin = try await admin(shown) {
            services.failures.succeeded(attempt)
            guard authentication.admitsAdmin else { throw misplaced(admin, visit) }
            recognize(admin, visit)
            return admin
        }
        let own = [authentication.key.name]
        let key: StoredKey? =
            switch (authentication.scheme, shown) {
            case (.bearer, .bearer(let secret)), (.token, .token(let secret)):
                try await ring.key(own, secret: secret, now: visit.at)
            case (.basic, .basic(let name, let secret)):
                try await ring.key(own, publicHalf: name, secret: secret, now: visit.at)
            case (.bearer, _), (.token, _), (.basic, _), (.parameter, _), (.deviceToken, _): nil
            }
        if let key {
            services.failures.succeeded(attempt)
            let caller = Caller(identity: .key(key))
            recognize(caller, visit)
            try services.quotas.spend(key.key)
            return caller
        }
        try await refuseOthers(shown, authentication, visit)
        try services.failures.failed(attempt)
        throw authentication.refusal
    }

    /// A valid key of another dialect is forbidden, anything else unauthorized. So is the dialect's own key in the
    /// wrong scheme, because in the right one it would be accepted. Two realms of one dialect do not know each other's
    /// keys.
    private func refuseOthers(
        _ shown: AuthorizationHeader, _ authentication: Authentication, _ visit: Visit
    ) async throws {
        let key: StoredKey? =
            switch shown {
            case .bearer(let secret), .token(let secret):
                try await ring.key(
                    Dialects.loneSecrets.filter { $0 != authentication.key.name }, secret: secret, now: visit.at)
            case .basic(let name, let secret):
                try await ring.key(
                    Dialects.pairs.filter { !Dialects.areRealms($0, authentication.key.name) }, publicHalf: name,
                    secret: secret, now: visit.at)
            }
        if let key { throw misplaced(Caller(identity: .key(key)), visit) }
        guard case .bearer(let secret) = shown, secret.hasPrefix(InstallationVerbs.tokenPrefix) else { return }
        if let found = try await installation(secret, now: visit.at) {
            throw misplaced(Caller(identity: .device(found), app: found.app), visit)
        }
    }

    /// The device whose token is in the header.
    private func device(
        _ shown: AuthorizationHeader?, _ authentication: Authentication, _ visit: Visit
    ) async throws -> Caller {
        guard let shown else { throw authentication.refusal }
        let attempt = shown.attempt(from: visit.address)
        try services.failures.check(attempt)
        if case .bearer(let secret) = shown, let found = try await installation(secret, now: visit.at) {
            services.failures.succeeded(attempt)
            let caller = Caller(identity: .device(found), app: found.app)
            visit.admitted(caller)
            try services.quotas.spend(found.installation)
            return caller
        }
        if let admin = try await admin(shown) { throw misplaced(admin, visit) }
        if case .bearer(let secret) = shown,
            let key = try await ring.key([authentication.key.name], secret: secret, now: visit.at)
        {
            throw misplaced(Caller(identity: .key(key)), visit)
        }
        try await refuseOthers(shown, authentication, visit)
        try services.failures.failed(attempt)
        throw authentication.refusal
    }

    private func installation(_ token: String, now: Timestamp) async throws -> DeviceCaller? {
        let hash = services.hasher.hash(token)
        return try await services.store.read { store in
            guard let found = try store.installation(tokenHash: hash, now: now),
                ConstantTime.areEqual(found.tokenHash, hash),
                let app = try store.app(key: found.app),
                let device = try store.device(app: found.app, key: found.device)
            else { return nil }
            return DeviceCaller(installation: found, id: device.id, app: app)
        }
    }

    private func key(
        _ kind: KeyKind, secret: String, of app: AppKey?, now: Timestamp
    ) async throws -> StoredKey? {
        let first = try await ring.key([kind.name], secret: secret, now: now)
        guard let app, kind.rules.isSharedByApps, first?.key.serves(app) != true else { return first }
        return try await ring.sharedKey(kind.name, secret: secret, of: app, now: now) ?? first
    }

    /// - Parameter named: the app that the request names; used if the key may be used for it.
    /// - Throws: `unauthorized` when the app was deleted meanwhile.
    private func withinOwnApp(
        _ caller: Caller, _ authentication: Authentication, named: App? = nil, for scope: APIKey.Scope
    ) async throws -> Caller {
        if let named, caller.key?.serves(named.key) == true {
            var caller = caller
            caller.app = named
            return caller
        }
        guard let key = caller.key else { throw authentication.refusal }
        let caller = try await self.caller(caller, for: scope, app: .key(key.app))
        guard caller.app != nil else { throw authentication.refusal }
        return caller
    }

    /// The caller within the app that the path names. A key may use only its own app: every other app is forbidden,
    /// whether it exists or not.
    private func within(_ name: String, _ caller: Caller, for scope: APIKey.Scope) async throws -> Caller {
        let id = AppID(name)
        if let key = caller.key {
            let caller = try await self.caller(caller, for: scope, app: .key(key.app))
            guard let app = caller.app, app.id == id else {
                throw PealError(.forbidden, "this key belongs to another app")
            }
            return caller
        }
        guard let id else { throw PealError.notFound("app") }
        let caller = try await self.caller(caller, for: scope, app: .id(id))
        guard caller.app != nil else { throw PealError.notFound("app") }
        return caller
    }

    /// The caller with an app; nil as its app if there is none.
    private func caller(_ caller: Caller, for scope: APIKey.Scope, app name: AppReference) async throws -> Caller {
        var caller = caller
        if scope == .send || scope == .devices {
            let found = try await services.recentApps.value(name) { try RecentApp(name, $0) }
            (caller.app, caller.sendingFacts) = (found?.app, found?.facts)
        } else {
            caller.app = try await services.store.read { try name.app($0) }
        }
        return caller
    }

    private static func require(_ scope: APIKey.Scope, of caller: Caller) throws(PealError) {
        guard caller.scopes.contains(scope) else {
            throw PealError(.forbidden, "this key lacks the scope \(scope.rawValue)")
        }
    }
}
