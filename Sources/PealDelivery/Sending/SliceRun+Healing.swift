internal import Logging
internal import PealCore

extension SliceRun {
    /// If addresses may belong to the provider's other environment, tries these devices there once, immediately, with
    /// the same id. Devices that are reached move to that environment when the page is settled.
    mutating func healed(_ group: [SentPage]) async -> [SentPage] {
        guard !slice.id.holdsAddresses, let other = slice.id.route.otherEnvironment else { return group }
        var group = group
        for index in group.indices {
            let doubted = group[index].doubted(by: terms.provider)
            guard !doubted.isEmpty, let page = await send(doubted, of: group[index], over: other) else { continue }
            let elsewhere = await answers(toHealing: page)
            await context.reportHealing(elsewhere, app: slice.id.app, over: other)
            group[index].heal(doubted, with: elsewhere, on: other)
        }
        return group
    }

    private func answers(toHealing page: SentPage) async -> SentPage {
        var run = self
        run.pages = [page]
        return await run.answers(to: 0, mayLeaveStragglers: false)
    }

    /// - Returns: nil when the app has no working credential for that environment, or no request may begin any more.
    private mutating func send(_ indices: [Int], of whole: SentPage, over other: Route) async -> SentPage? {
        do {
            guard let access = try await context.healingAccess(app: slice.id.app, other),
                let deadline = try await deadline(), let order = whole.order
            else { return nil }
            let page = order.page.part(at: indices.map(whole.orderIndex))
            let variants = work.variants(route: other, access: access, provider: terms.provider, now: context.time.now)
            let choice = try await variants.choose(for: page, store: context.store)
            var id = slice.id
            id.route = other
            return submit(page, choice, as: id, access: access, deadline: deadline)
        } catch {
            context.logger.error(
                "devices could not be tried in the other environment",
                metadata: ["message": "\(slice.id.message)", "error": "\(error)"])
            return nil
        }
    }
}

extension DeliveryContext {
    /// The credential for a provider's other environment; nil when there is none, or it is known not to work.
    func healingAccess(app: AppKey, _ route: Route) async throws -> RouteAccess? {
        let route = ActiveRoute(app: app, route: route)
        guard let slot = CredentialSlot(of: route), !routes.change(route, { $0.isStopped }) else { return nil }
        return try await readAccess(at: slot)
    }
}
