internal import Logging
internal import PealCore

extension DeliveryContext {
    /// What a page's answers mean for its route.
    struct RouteReport: Sendable {
        var trustsSuspicious = true
        /// Set while the route may not be used, on the wall clock.
        var readyAt: Timestamp?
    }

    /// Reports pages to their route's breaker, before anything follows from their answers.
    /// - Parameters:
    ///   - terms: Pages that were sent under a credential that has been replaced since say nothing: they must not stop
    ///     its successor, and addresses that were unknown under it are not dead.
    ///   - isOwnStop: Whether we stopped the pages ourselves, so that unsent devices say nothing about the route.
    func report(_ pages: [PageFates], under terms: SendTerms, isProbe: Bool, isOwnStop: Bool) async -> RouteReport {
        let (route, key) = (terms.route, terms.key)
        guard access.version(of: key) == terms.accessVersion else {
            return RouteReport(trustsSuspicious: false, readyAt: closedUntil(route))
        }
        var tally = RouteBreaker.Tally()
        for page in pages { tally.add(page.tally) }
        let trouble = pages.compactMap(\.trouble).max { $0.kind.weight < $1.kind.weight }
        let uptime = time.uptime
        let (judgement, stopReason) = routes.change(route) { breaker in
            let judgement = breaker.judge(tally, isProbe: isProbe, now: uptime)
            var stopReason = judgement.stopReason
            switch trouble?.kind {
            case .stop: if breaker.stop(isProbe: isProbe, now: uptime) { stopReason = trouble?.reason ?? "" }
            case .hold(let after): breaker.hold(after, now: uptime)
            case .unsent where isOwnStop: break
            case .unsent, .reconnect, .refreshCredential: breaker.backOff(isProbe: isProbe, now: uptime)
            case nil: break
            }
            if isProbe { breaker.abandonProbe() }
            return (judgement, stopReason)
        }
        if judgement.hasTripped { metrics.change { $0.breakerTrips += 1 } }
        if let stopReason { await noteStop(route, key, stopReason) }
        // Any answer to a probe shows that the credential is accepted.
        let isAccepted = tally.accepted > 0 || judgement.hasReopened && trouble == nil
        if stopReason == nil, isAccepted { await noteHealth(key) }
        return RouteReport(
            trustsSuspicious: judgement.trustsSuspicious, readyAt: closedUntil(route))
    }

    /// Reports devices that were tried in the provider's other environment. Addresses that it does not know say nothing
    /// about that route, because they were only guessed to be its own.
    func reportHealing(_ fates: PageFates, app: AppKey, over other: Route) async {
        guard let provider = other.provider else { return }
        let route = ActiveRoute(app: app, route: other)
        let key = AccessCache.Key(app: app, provider: provider, environment: other.environment)
        let uptime = time.uptime
        switch fates.trouble?.kind {
        case .stop:
            let isNew = routes.change(route) { $0.stop(isProbe: false, now: uptime) }
            if isNew { await noteStop(route, key, fates.trouble?.reason ?? "") }
        case .hold(let after): routes.change(route) { $0.hold(after, now: uptime) }
        case .unsent, .reconnect, .refreshCredential: break
        case nil: if fates.tally.accepted > 0 { await noteHealth(key) }
        }
    }

    /// Until when the route is closed, at most as long as a parked slice may wait.
    func closedUntil(_ route: ActiveRoute) -> Timestamp? {
        let uptime = time.uptime
        guard let until = routes.change(route, { $0.closedUntil }), until > uptime else { return nil }
        return parked(until: until)
    }

    /// When a slice of a closed route becomes ready. It does now and then, because its message may have been cancelled
    /// or have expired.
    func parked(until: Duration) -> Timestamp {
        time.now + min(max(until - time.uptime, .milliseconds(100)), .seconds(Limits.parkSecondsMax))
    }

    private func noteStop(_ route: ActiveRoute, _ key: AccessCache.Key, _ reason: String) async {
        logger.error(
            "a route was stopped: nothing is sent until its configuration is fixed",
            metadata: ["app": "\(route.app)", "route": "\(route.route)", "reason": "\(reason)"])
        access.markStopped(key)
        await setHealth(.stopped(at: time.now, reason: reason), key)
    }

    private func noteHealth(_ key: AccessCache.Key) async {
        if access.markHealthy(key) { await setHealth(.ok(at: time.now), key) }
    }

    private func setHealth(_ health: CredentialRecord.Health, _ key: AccessCache.Key) async {
        do {
            try await store.write(.control) {
                try $0.setHealth(health, app: key.app, provider: key.provider, environment: key.environment)
            }
        } catch {
            logger.error("a credential's health could not be stored", metadata: ["error": "\(error)"])
        }
    }
}
