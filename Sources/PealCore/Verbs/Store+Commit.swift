extension Store {
    /// Makes a change and keeps its answer in the same transaction. A repeated request changes nothing and gets the
    /// answer that was kept; then `result` is nil.
    package func commit<Result: Sendable>(
        _ lane: WriteLane, _ call: VerbCall, reply: @escaping @Sendable (Result) throws -> Reply,
        change: @escaping @Sendable (any StoreWriting) throws -> Result
    ) async throws -> (reply: Reply, result: Result?) {
        try await write(lane) { store in
            guard let request = call.request else {
                let result = try change(store)
                return (try reply(result), result)
            }
            if let kept = try store.keptAnswer(request, now: call.now) {
                return (try Reply(kept, to: request), nil)
            }
            let result = try change(store)
            let answer = try reply(result)
            try store.keepAnswer(answer.kept(for: request), to: request, now: call.now)
            return (answer, result)
        }
    }

    /// The answer that was kept for `request`, if there is one: for a repetition that would be refused by now.
    /// - Throws: `idempotency_mismatch`.
    package func answer(keptFor request: IdempotentRequest, now: Timestamp) async throws -> Reply? {
        try await write(.intake) { store in
            try store.keptAnswer(request, now: now).map { try Reply($0, to: request) }
        }
    }
}

extension AuditWriting {
    /// Records what `call` did to `object`.
    func audit(_ call: VerbCall, app: AppKey?, _ action: String, _ object: String) throws {
        try audit(AuditEntry(at: call.now, app: app, actor: call.actor, action: action, object: object))
    }
}
