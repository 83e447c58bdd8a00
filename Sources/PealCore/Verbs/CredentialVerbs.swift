internal import Synchronization

/// Puts, verifies and removes the credentials of apps.
package struct CredentialVerbs: Sendable {
    /// How long after an acceptance another one ends no waits.
    private static let acceptanceLife: Duration = .seconds(600)

    package let store: any Store
    package let engine: any DeliveryEngine
    package let providers: [ProviderName: any Provider]
    let examinations: CredentialExaminations

    package init(
        store: any Store, engine: any DeliveryEngine, providers: [ProviderName: any Provider],
        examinations: CredentialExaminations = CredentialExaminations()
    ) {
        self.store = store
        self.engine = engine
        self.providers = providers
        self.examinations = examinations
    }

    /// Checks the credential and stores it encrypted. It replaces an earlier one, except on a network that keeps
    /// several keys, where it is added to them.
    /// - Throws: `invalid_field`; `not_supported` if this server has no such provider; `conflict` if the network keeps
    ///   no further key.
    package func put(
        _ credential: Credential, at slot: CredentialSlot, _ call: VerbCall
    ) async throws -> CredentialRecord {
        let network = try network(slot.provider)
        let examined = try await examinations.examine(credential, by: network, app: slot.app, now: call.now)
        let (record, earlier) = try await store.write(.control) { store in
            let earlier = try store.credential(at: slot)
            var examined = examined
            if let joined = examined.credential.joined(to: earlier?.credential) {
                examined = try network.examine(joined, now: call.now)
            }
            try examined.credential.value.checkSize()
            let record = try store.putCredential(examined, at: slot, now: call.now)
            if let earlier, earlier.record.fingerprint != record.fingerprint || earlier.record.health.isStopped {
                try store.reviewRetries(at: slot, now: call.now)
            }
            try store.audit(
                call, app: slot.app, "credential.put", "\(slot) \(record.fingerprint)")
            return (record, earlier?.record)
        }
        settle(slot, earlier, unless: record.fingerprint)
        return record
    }

    /// - Throws: `not_found`.
    package func delete(at slot: CredentialSlot, _ call: VerbCall) async throws {
        let earlier = try await store.write(.control) { store in
            let earlier = try store.credential(at: slot)?.record
            guard try store.deleteCredential(at: slot) else { throw PealError.notFound("credential") }
            try store.audit(call, app: slot.app, "credential.delete", slot.description)
            return earlier
        }
        settle(slot, earlier, unless: nil)
    }

    /// Removes one key of a credential that has several. Addresses that were created with it can no longer be reached.
    /// - Parameter fingerprint: the fingerprint of the key.
    /// - Throws: `not_found`.
    package func deleteKey(_ fingerprint: String, at slot: CredentialSlot, _ call: VerbCall) async throws {
        let network = try network(slot.provider)
        let earlier = try await store.write(.control) { store in
            guard let known = try store.credential(at: slot) else { throw PealError.notFound("credential") }
            switch known.credential.removingKey(fingerprint) {
            case .notFound: throw PealError.notFound("credential")
            case .empty:
                _ = try store.deleteCredential(at: slot)
            case .remaining(let rest):
                let examined = try network.examine(rest, now: call.now)
                _ = try store.putCredential(examined, at: slot, now: call.now)
            }
            try store.audit(call, app: slot.app, "credential.delete", "\(slot) \(fingerprint)")
            return known.record
        }
        settle(slot, earlier, unless: nil)
    }

    /// Sends a harmless request to the provider. An acceptance reopens a stopped route; lists show a refusal from then
    /// on. A repeated request does not ask the provider again.
    /// - Throws: `not_found` without a credential.
    package func verify(
        at slot: CredentialSlot, _ call: VerbCall, reply: @escaping @Sendable (CredentialVerification) throws -> Reply
    ) async throws -> Reply {
        let network = try network(slot.provider)
        if let request = call.request, let kept = try await store.answer(keptFor: request, now: call.now) {
            return kept
        }
        guard let known = try await store.read({ try $0.credential(at: slot) }) else {
            throw PealError.notFound("credential")
        }
        let fingerprint = known.record.fingerprint
        let verification = await network.verify(
            known.credential, fingerprint: fingerprint, environment: slot.environment)
        let done = try await store.commit(.control, call, reply: { try reply($0.verification) }) { store in
            try store.audit(
                call, app: slot.app, "credential.verify", "\(slot) \(verification.result.rawValue)")
            guard let health = verification.health(at: call.now),
                let record = try store.credential(at: slot)?.record, record.fingerprint == fingerprint
            else { return (verification: verification, reopens: false) }
            try store.setHealth(health, at: slot)
            let isAccepted = verification.result == .accepted
            return (verification, try isAccepted && Self.endWaits(for: record, at: slot, in: store, now: call.now))
        }
        if done.result?.reopens == true { engine.credentialsChanged(at: slot) }
        return done.reply
    }

    /// Ends the waits for a credential that was accepted. If it was known to work, the network named the waits, but for
    /// a reason that the operator may have fixed since, such as Firebase's own key for APNs.
    /// - Parameter record: as it was before the acceptance.
    /// - Returns: whether the engine must reopen its routes.
    private static func endWaits(
        for record: CredentialRecord, at slot: CredentialSlot, in store: any StoreWriting, now: Timestamp
    ) throws -> Bool {
        guard case .ok(let at) = record.health else {
            try store.reviewRetries(at: slot, now: now)
            return true
        }
        let isRecent = at <= now && now - at < Self.acceptanceLife
        if !isRecent { try store.reviewRetries(at: slot, now: now) }
        return try store.gates(app: slot.app).contains { $0.state == .stopped && slot.routes.contains($0.route) }
    }

    private func network(_ name: ProviderName) throws(PealError) -> any Provider {
        guard let network = providers[name] else { throw .unsupported("provider") }
        return network
    }

    /// Notifies the engine, which closes connections under the earlier credential.
    private func settle(_ slot: CredentialSlot, _ earlier: CredentialRecord?, unless fingerprint: String?) {
        engine.credentialsChanged(at: slot)
        if let earlier, earlier.fingerprint != fingerprint {
            providers[slot.provider]?.drain(fingerprint: earlier.fingerprint)
        }
    }
}

extension CredentialVerification {
    /// The health of the credential according to the answer; nil if the provider did not judge it.
    fileprivate func health(at now: Timestamp) -> CredentialRecord.Health? {
        switch result {
        case .accepted: .ok(at: now)
        case .refused: .stopped(at: now, reason: reason)
        case .unreachable, .unverifiable: nil
        }
    }
}

/// Checks credentials away from the threads that serve requests, because opening an archive may take seconds: one
/// credential of an app at a time.
package final class CredentialExaminations: Sendable {
    /// Runs work on separate threads.
    package typealias Submit = @Sendable (@escaping @Sendable () -> Void) -> Void

    private struct State {
        var busy: Set<AppKey> = []
        var waiters: [(app: AppKey, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let submit: Submit
    private let state = Mutex(State())

    /// - Parameter submit: by default runs the work in place.
    package init(submit: @escaping Submit = { $0() }) { self.submit = submit }

    /// - Throws: as `Provider.examine`; `unavailable` while too many wait.
    func examine(
        _ credential: Credential, by network: any Provider, app: AppKey, now: Timestamp
    ) async throws -> CredentialExamination {
        try await enter(app)
        defer { leave(app) }
        return try await withCheckedThrowingContinuation { continuation in
            submit { continuation.resume(with: Result { try network.examine(credential, now: now) }) }
        }
    }

    private func enter(_ app: AppKey) async throws {
        let hasRoom = state.withLock { $0.waiters.count < Limits.credentialExaminationsWaitingMax }
        guard hasRoom else {
            throw PealError(.unavailable, "too many credentials are being checked", retryAfterSeconds: 5)
        }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.busy.insert(app).inserted { return true }
                state.waiters.append((app, continuation))
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Passes the turn to the next caller that waits for the app.
    private func leave(_ app: AppKey) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let index = state.waiters.firstIndex(where: { $0.app == app }) else {
                state.busy.remove(app)
                return nil
            }
            return state.waiters.remove(at: index).continuation
        }
        next?.resume()
    }
}
