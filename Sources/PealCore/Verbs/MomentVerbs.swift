/// Schedules and cancels one user's message by its name.
package struct MomentVerbs: Sendable {
    package let store: any Store
    package let engine: any DeliveryEngine

    package init(store: any Store, engine: any DeliveryEngine) {
        self.store = store
        self.engine = engine
    }

    /// The result of a request to schedule or to cancel.
    package struct Result: Sendable, Hashable {
        package let moment: Moment
        /// Whether the request changed anything. false if the server no longer controls the message.
        package let isApplied: Bool
    }

    /// Makes a message to one user durable. If the name is known, the last request applies while the message is open.
    /// After that, the same request is a repetition and changes nothing, and another one is a new message, as is any
    /// request after a cancellation.
    /// - Parameter draft: A draft with a delivery window, for one user.
    package func schedule(_ draft: MessageDraft, _ call: VerbCall) async throws -> Result {
        let result = try await store.write(.intake) { store in
            let (result, action) = try Self.accept(draft, in: store)
            if let action { try store.audit(call, app: draft.app, action, "message \(result.moment.message)") }
            return result
        }
        if result.isApplied { call.noted?.note(result.moment.message) }
        engine.wake()
        return result
    }

    /// - Returns: The result, and the action that the audit log records; nil if nothing changed.
    private static func accept(
        _ draft: MessageDraft, in store: any StoreWriting
    ) throws -> (result: Result, action: String?) {
        var (draft, action) = (draft, "message.send")
        let known = try draft.window?.name.flatMap { try store.moment(app: draft.app, named: $0) }
        if let known, known.state == .open {
            draft.id = known.message
            guard try store.replaceDraft(draft, now: draft.createdAt) else {
                throw PealError(.conflict, "the message is being sent")
            }
            action = "message.change"
        } else {
            if let known {
                guard known.state == .cancelled || !known.isRepeated(by: draft.window?.request) else {
                    return (Result(moment: known, isApplied: false), nil)
                }
                try store.releaseName(of: known.id)
            }
            try store.insertMessage(draft)
        }
        guard let user = draft.audience.users.first,
            let moment = try store.moment(.init(app: draft.app, message: draft.id, userID: user))
        else { throw PealError(.internal, "a message was stored without its moment") }
        return (Result(moment: moment, isApplied: true), action)
    }

    /// Cancels by name. A message that is reported as cancelled is never shown. A claimant is asked to drop what it has
    /// not shown yet, without a guarantee.
    /// - Returns: The moment: cancelled now or before, or in a state in which it can no longer be cancelled.
    /// - Throws: `not_found`.
    package func cancel(_ name: MomentName, app: AppKey, _ call: VerbCall) async throws -> Result {
        try await store.write(.intake) { store in
            guard let before = try store.moment(app: app, named: name) else { throw PealError.notFound("message") }
            let count = try store.cancelMoments(app: app, message: before.message, now: call.now)
            if count > 0 { try store.audit(call, app: app, "message.cancel", "message \(before.message)") }
            return Result(moment: try store.moment(before.id) ?? before, isApplied: count > 0)
        }
    }
}

/// Reads models for phones, and rolls back a bad one.
package struct ModelVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// The newest model of a campaign, or of all campaigns (empty), that has not expired.
    /// - Throws: `not_found`.
    package func newest(of campaign: String, app: AppKey, now: Timestamp) async throws -> ModelRelease {
        let found = try await store.read { try $0.modelRelease(app: app, campaign: campaign, version: nil) }
        guard let found, found.draft.expiresAt > now else { throw PealError.notFound("model") }
        return found
    }

    /// Reissues an earlier model of a campaign as its newest. For `Limits.modelHoldSeconds`, training does not replace
    /// it.
    /// - Parameter version: nil for the one before the newest.
    /// - Throws: `not_found` if the campaign has no such model; `conflict` if it is already the newest.
    package func rollBack(
        _ campaign: String, to version: Int64?, app: AppKey, _ call: VerbCall,
        reply: @escaping @Sendable (ModelRelease, CampaignLearning) throws -> Reply
    ) async throws -> Reply {
        try await store.commit(.control, call, reply: { try reply($0.0, $0.1) }) { store in
            let versions = try store.modelVersions(app: app, campaign: campaign)
            guard let newest = versions.first, let wanted = version ?? versions.dropFirst().first,
                let former = try store.modelRelease(app: app, campaign: campaign, version: wanted)
            else { throw PealError.notFound("model") }
            guard wanted != newest else { throw PealError(.conflict, "this model is already the newest") }
            let release = try store.issueModel(
                former.reissued(after: newest, now: call.now), app: app, now: call.now)
            var learning = try store.learning(app: app, campaign: campaign) ?? CampaignLearning(campaign: campaign)
            learning.heldUntil = call.now + .seconds(Limits.modelHoldSeconds)
            // It may be the one that a withdrawal had replaced, or the one that replaced it.
            learning.hasOwnModel = !release.draft.isWithdrawal
            try store.putLearning(learning, app: app)
            try store.audit(call, app: app, "model.rollback", "model \(wanted) of campaign \(campaign)")
            return (release, learning)
        }.reply
    }
}
