internal import PealCore

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
