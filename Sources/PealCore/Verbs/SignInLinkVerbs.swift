/// Creates links that sign a user in to the console once, without showing a key to the browser.
package struct SignInLinkVerbs: Sendable {
    package let store: any Store
    package let hasher: any KeyHasher
    package let randomness: any Randomness

    package init(store: any Store, hasher: any KeyHasher, randomness: any Randomness) {
        self.store = store
        self.hasher = hasher
        self.randomness = randomness
    }

    /// A new link's secret, which is shown only once.
    package struct Made: Sendable {
        package let linkToken: String
        package let expiresAt: Timestamp
    }

    /// The caller who created the link.
    package struct Taken: Sendable, Hashable {
        /// How the console's sessions name the holder of the key.
        package let holder: String
        /// See `proof(ofHash:)`.
        package let proof: [UInt8]

        package var isOfAdmin: Bool { holder == Admin.first || holder.hasPrefix(Admin.sessionPrefix) }

        /// Reads the stored link.
        fileprivate init?(_ stored: [UInt8]) {
            guard let json = try? JSONParser.parse(stored, isStored: true), let holder = json["holder"]?.stringValue,
                let proof = json["proof"]?.stringValue.flatMap({ Hex.decode($0) })
            else { return nil }
            self.holder = holder
            self.proof = proof
        }
    }

    /// - Parameters:
    ///   - holder: see `Taken.holder`.
    ///   - secretHash: of the key that requests the link, by `KeyHasher`: the link becomes invalid with the key.
    package func create(
        for holder: String, secretHash: [UInt8], _ call: VerbCall, reply: @escaping @Sendable (Made) throws -> Reply
    ) async throws -> Reply {
        let made = Made(
            linkToken: Base64URL.encode(randomness.bytes(32)),
            expiresAt: call.now + .seconds(Limits.signInLinkSeconds))
        let value: JSON = ["holder": .string(holder), "proof": .string(Hex.encode(proof(ofHash: secretHash)))]
        return try await store.commit(.control, call, reply: reply) { store in
            try store.setSetting(name(made.linkToken), value.bytes, until: made.expiresAt)
            try store.audit(call, app: nil, "sign_in_link.create", "sign-in link of \(holder)")
            return made
        }.reply
    }

    /// Redeems a link; nil if it never existed, was used before or has expired.
    package func take(_ linkToken: String, now: Timestamp) async throws -> Taken? {
        guard linkToken.utf8.count <= 64 else { return nil }
        let name = name(linkToken)
        return try await store.write(.control) { try $0.takeSetting(name, now: now) }.flatMap(Taken.init)
    }

    /// Whom a link signs in, without redeeming it; nil for a link that does not exist. The link may have expired.
    package func look(at linkToken: String) async throws -> Taken? {
        guard linkToken.utf8.count <= 64 else { return nil }
        let name = name(linkToken)
        return try await store.read(.request) { try $0.setting(name) }.flatMap(Taken.init)
    }

    /// Proves that the key is still the one that requested the link, without revealing its hash.
    package func proof(ofHash secretHash: [UInt8]) -> [UInt8] {
        hasher.hash("console sign-in link\n\(Hex.encode(secretHash))")
    }

    private func name(_ linkToken: String) -> String {
        "console.link.\(Hex.encode(Array(hasher.hash(linkToken).prefix(16))))"
    }
}
