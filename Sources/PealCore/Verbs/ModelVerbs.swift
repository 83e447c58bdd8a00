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
            guard wanted != newest else { throw PealError(.conflict, "the model is already the newest") }
            let release = try store.issueModel(
                former.reissued(after: newest, now: call.now), app: app, now: call.now)
            var learning = try store.learning(app: app, campaign: campaign) ?? CampaignLearning(campaign: campaign)
            learning.heldUntil = call.now + .seconds(Limits.modelHoldSeconds)
            try store.putLearning(learning, app: app)
            try store.audit(call, app: app, "model.rollback", "model \(wanted) of campaign \(campaign)")
            return (release, learning)
        }.reply
    }
}
