/// Changes the share of experiments.
package struct ExperimentVerbs: Sendable {
    package let store: any Store

    package init(store: any Store) { self.store = store }

    /// Ends a run of a campaign's experiment and begins one with another share. Users keep their arm as far as the new
    /// share permits. Messages that were sent before do not count any more. Shares are kept in millionths.
    /// - Parameter result: what `run` had found; it is kept.
    /// - Throws: `not_found` if no experiment runs; `conflict` if it has that share, or another run has begun.
    package func changeShare(
        of campaign: String, to share: Double, after run: ExperimentRun, _ result: ShareChange.Result, app: AppKey,
        _ call: VerbCall, reply: @escaping @Sendable (ShareChange) throws -> Reply
    ) async throws -> Reply {
        let share = (share * 1e6).rounded() / 1e6
        let change = ShareChange(
            at: call.now, actor: call.actor.name ?? call.actor.id, formerShare: run.share, share: share, result: result)
        return try await store.commit(.control, call, reply: { _ in try reply(change) }) { store in
            guard try store.experimentRun(of: campaign, app: app) != nil else {
                throw PealError.notFound("experiment")
            }
            guard share != run.share else {
                throw PealError(.conflict, "the experiment has this share already")
            }
            guard try store.changeShare(change, after: run, of: campaign, app: app) else {
                throw PealError(.conflict, "the share was changed meanwhile")
            }
            try store.audit(call, app: app, "experiment.share", "campaign \(campaign) from \(run.share) to \(share)")
        }.reply
    }
}
