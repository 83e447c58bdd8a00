/// A request with an idempotency key, which identifies repetitions.
package struct IdempotentRequest: Sendable, Hashable {
    /// 32 bytes: a hash of the caller's credential, the method and the path.
    package let scope: [UInt8]
    package let key: String
    /// 32 bytes: a hash of the body.
    package let digest: [UInt8]
    /// How long the key is stored, at most `Limits.idempotencyLifeSeconds`.
    package let lifeSeconds: Int64

    package init(
        scope: [UInt8], key: String, digest: [UInt8], lifeSeconds: Int64 = Limits.idempotencyLifeSeconds
    ) {
        self.scope = scope
        self.key = key
        self.digest = digest
        self.lifeSeconds = lifeSeconds
    }
}

/// A 2xx answer that a repeated request receives again.
package struct KeptAnswer: Sendable, Hashable {
    package let digest: [UInt8]
    package let status: Int
    package let body: [UInt8]

    package init(digest: [UInt8], status: Int, body: [UInt8]) {
        self.digest = digest
        self.status = status
        self.body = body
    }
}
