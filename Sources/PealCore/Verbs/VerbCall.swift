/// Who requests a change, when, from where, and under which idempotency key: for the audit, and to recognize a
/// repetition.
package struct VerbCall: Sendable {
    package let actor: Actor
    package let now: Timestamp
    /// Set if the request has an `Idempotency-Key`.
    package private(set) var request: IdempotentRequest?
    /// The client's address; nil for what a device does, or the server on its own.
    package let address: String?
    package let requestID: String?
    /// Receives the id of the message that the call creates.
    package var noted: NotedMessage?

    package init(
        actor: Actor, now: Timestamp, request: IdempotentRequest? = nil, address: String? = nil,
        requestID: String? = nil
    ) {
        self.actor = actor
        self.now = now
        self.request = request
        self.address = address
        self.requestID = requestID
    }

    /// The same call with another idempotency key.
    package func with(_ request: IdempotentRequest?) -> VerbCall {
        var call = self
        call.request = request
        return call
    }

    /// A row of the audit log about what the call did.
    package func entry(_ action: String, _ object: String, app: AppID?) -> AuditEntry {
        AuditEntry(
            at: now, actor: actor, address: address, requestID: requestID, app: app, action: action, object: object)
    }
}

/// An answer in the bytes of its dialect. It is created in the transaction that it reports, so that both can be stored
/// together.
package struct Reply: Sendable, Hashable {
    package let status: Int
    package let body: [UInt8]
    /// The body of the answer (200) to a repeated request, if the first one contains something that is shown only once.
    package let repetition: [UInt8]?
    /// Whether this is the stored answer to an earlier request.
    package let isReplay: Bool

    package init(status: Int, body: [UInt8], repetition: [UInt8]? = nil) {
        self.status = status
        self.body = body
        self.repetition = repetition
        isReplay = false
    }

    package init(status: Int, _ json: JSON) {
        self.init(status: status, body: json.bytes)
    }

    /// The stored answer to a repeated request.
    /// - Throws: `idempotency_mismatch` if another request has used the same key.
    package init(_ kept: KeptAnswer, to request: IdempotentRequest) throws(PealError) {
        guard kept.digest == request.digest else {
            throw PealError(.idempotencyMismatch, "this Idempotency-Key was used for a request with another body")
        }
        status = kept.status
        body = kept.body
        repetition = nil
        isReplay = true
    }

    /// The form of the answer that is stored for `request`.
    func kept(for request: IdempotentRequest) -> KeptAnswer {
        KeptAnswer(
            digest: request.digest, status: repetition == nil ? status : 200, body: repetition ?? body)
    }
}

extension Store {
    /// Makes a change and stores its answer in the same transaction. A repeated request changes nothing and gets the
    /// stored answer; `result` is then nil. An answer that is not kept is composed after the commit, so that other
    /// writes do not wait for it.
    package func commit<Result: Sendable>(
        _ lane: WriteLane, _ call: VerbCall, reply: @escaping @Sendable (Result) throws -> Reply,
        change: @escaping @Sendable (any StoreWriting) throws -> Result
    ) async throws -> (reply: Reply, result: Result?) {
        guard let request = call.request else {
            let result = try await write(lane, change)
            return (try reply(result), result)
        }
        return try await write(lane) { store in
            if let kept = try store.keptAnswer(request, now: call.now) {
                return (try Reply(kept, to: request), nil)
            }
            let result = try change(store)
            let answer = try reply(result)
            try store.keepAnswer(answer.kept(for: request), to: request, now: call.now)
            return (answer, result)
        }
    }

    /// The stored answer to `request`, if there is one, for a repetition that would be refused by now.
    /// - Throws: `idempotency_mismatch`.
    package func answer(keptFor request: IdempotentRequest, now: Timestamp) async throws -> Reply? {
        try await write(.intake) { store in
            try store.keptAnswer(request, now: now).map { try Reply($0, to: request) }
        }
    }
}

extension StoreWriting {
    /// Records what `call` did to `object`.
    func audit(_ call: VerbCall, app: AppKey?, _ action: String, _ object: String) throws {
        try audit(call.entry(action, object, app: try app.flatMap(appID)))
    }
}

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
