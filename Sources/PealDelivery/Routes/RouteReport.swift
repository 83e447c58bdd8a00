internal import Logging
internal import PealCore

extension DeliveryContext {
    /// What a report about pages means for their devices.
    struct ReportedEffect: Sendable {
        let suspiciousAddresses: RouteBreaker.SuspiciousAddresses
        /// Set if no further page may begin: when untried devices are ready again. On a closed route they are ready at
        /// once, because the gate holds them.
        let readyAt: Timestamp?
    }

    /// Reports pages to their route's breaker, before their answers have any effect.
    /// - Parameters:
    ///   - terms: Pages that were sent under a credential that has since been replaced do not count: they must not stop
    ///     its successor, and addresses that were unknown under it are not dead.
    ///   - isRepeated: Whether their devices were tried before.
    ///   - isOwnStop: Whether Peal itself stopped the pages, so that unsent devices say nothing about the route.
    func report(
        _ pages: [SentPage], under terms: SendTerms, isProbe: Bool, isRepeated: Bool = false, isOwnStop: Bool
    ) async -> ReportedEffect {
        let route = terms.route
        guard access.version(of: terms.slot) == terms.accessVersion else {
            return ReportedEffect(suspiciousAddresses: .retryUncounted, readyAt: await readyAt(on: route))
        }
        let message = pages.lazy.compactMap(\.order).first?.slice.message
        var tally = RouteBreaker.Tally()
        for page in pages { tally.add(page.tally) }
        let problem = pages.compactMap(\.problem).max { $0.kind.weight < $1.kind.weight }
        let uptime = time.uptime
        let judgement = judge(route) { breaker in
            var judgement = breaker.judge(
                tally, of: message, isProbe: isProbe, isRepeated: isRepeated, version: terms.accessVersion, now: uptime)
            if let problem, !isOwnStop || problem.kind != .unsent {
                breaker.apply(problem, of: message, isProbe: isProbe, to: &judgement, now: uptime)
            }
            if isProbe { breaker.endProbe(of: message, isEmpty: problem == nil && tally.answers == 0) }
            return judgement
        }
        // The store may have closed the route although this process does not know that.
        if isProbe, problem == nil, tally.answers > 0, isOpen(route) { routes.markUnsaved([route]) }
        // Any answer to a probe shows that the credential is accepted.
        let isAccepted = tally.accepted > 0 || judgement.hasReopened && problem == nil
        await note(judgement, on: route, terms.slot, isAccepted: isAccepted)
        if judgement.hasReopened { ready.set() }
        if judgement.isNewDoubt {
            logger.warning(
                "many addresses were reported as dead: they are tried again before they are retired",
                metadata: ["message": "\(message.map { "\($0)" } ?? "")", "route": "\(route.route)"])
        }
        let alone = judgement.isRefusedAlone ? time.now + RouteBreaker.refusedWait : nil
        let closed = await readyAt(on: route)
        return ReportedEffect(suspiciousAddresses: judgement.suspiciousAddresses, readyAt: alone ?? closed)
    }

    /// Reports devices that were tried in the provider's other environment. Unknown addresses do not count for that
    /// route, because they were only assumed to belong to it.
    func reportHealing(_ page: SentPage, app: AppKey, over other: Route) async {
        let route = ActiveRoute(app: app, route: other)
        guard let slot = CredentialSlot(of: route) else { return }
        let (uptime, message) = (time.uptime, page.order?.slice.message)
        var judgement = RouteBreaker.Judgement()
        if let problem = page.problem {
            switch problem.kind {
            case .stop, .hold:
                judgement = judge(route) { breaker in
                    var judgement = RouteBreaker.Judgement()
                    breaker.apply(problem, of: message, isProbe: false, to: &judgement, now: uptime)
                    return judgement
                }
            case .unsent, .reconnect, .refreshCredential: break
            }
        }
        await note(judgement, on: route, slot, isAccepted: page.problem == nil && page.tally.accepted > 0)
    }

    /// Runs `body` on the route's breaker, and counts if it trips.
    private func judge(
        _ route: ActiveRoute, _ body: (inout RouteBreaker) -> RouteBreaker.Judgement
    ) -> RouteBreaker.Judgement {
        let (judgement, hasTripped) = routes.change(route) { breaker in
            let before = breaker
            return (body(&breaker), breaker.hasTripped(since: before))
        }
        if hasTripped { metrics.change { $0.breakerTrips += 1 } }
        return judgement
    }

    /// Writes a route's new state and the resulting health of its credential.
    private func note(
        _ judgement: RouteBreaker.Judgement, on route: ActiveRoute, _ slot: CredentialSlot, isAccepted: Bool
    ) async {
        var health: CredentialRecord.Health?
        if let reason = judgement.stopReason {
            let app = await store.shownID(of: route.app)
            logger.error(
                "a route was stopped: nothing is sent until its configuration is fixed",
                metadata: [
                    "app": "\(app)", "route": "\(route.route)", "reason": "\(reason)",
                ])
            access.markStopped(slot)
        } else if isAccepted, access.markHealthy(slot) {
            health = .ok(at: time.now)
        }
        await saveGates(of: route, health.map { ($0, slot) })
    }
}

/// Closed routes and the store.
extension DeliveryContext {
    /// When slices that are released on a route become ready; nil while the route is open.
    private func readyAt(on route: ActiveRoute) async -> Timestamp? {
        isOpen(route) ? nil : await park(on: route)
    }

    private func isOpen(_ route: ActiveRoute) -> Bool { routes.change(route) { $0.closedUntil } == nil }

    /// When a slice that is released on a closed route becomes ready: at once, because the gate holds it. If the gate
    /// cannot be written now, it waits a little, so that it is not leased over and over.
    func park(on route: ActiveRoute) async -> Timestamp {
        await saveGates(of: route, nil)
        return routes.isSaved(route) ? time.now : time.now + .seconds(1)
    }

    /// Writes gates that the store does not know, and what they say about their credentials.
    /// - Parameters:
    ///   - route: nil for all.
    ///   - health: of a credential whose route is not stopped.
    func saveGates(of route: ActiveRoute?, _ health: (CredentialRecord.Health, CredentialSlot)?) async {
        let (now, uptime) = (time.now, time.uptime)
        let unsaved = routes.takeUnsaved(route)
        guard !unsaved.isEmpty || health != nil else { return }
        let gates = unsaved.map { route, memory in
            memory.gate(of: route, fingerprint: fingerprint(of: route), now: now, uptime: uptime)
        }
        do {
            let refused = try await store.write(.control) { writer in
                let refused = try gates.filter { try !writer.put($0, now: now) }
                if let (health, slot) = health { try writer.setHealth(health, at: slot) }
                return refused
            }
            // Their app is gone, or they were closed under a credential that has been replaced since.
            for gate in refused { routes.forget(gate.route) }
        } catch {
            routes.markUnsaved(unsaved.map(\.route))
            logFailure("the state of a route could not be stored", error)
        }
    }

    private func fingerprint(of route: ActiveRoute) -> String? {
        CredentialSlot(of: route).flatMap { access.find($0, now: time.uptime)?.access?.fingerprint }
    }
}

extension StoreWriting {
    /// Stores a gate. One that stops its route marks the credential as stopped, unless it already is.
    /// - Returns: false if the app is gone, or the credential has been replaced since.
    fileprivate func put(_ gate: RouteGate, now: Timestamp) throws -> Bool {
        // An app whose row cannot be read still exists.
        let isGone = (try? app(key: gate.route.app) == nil) ?? false
        guard !isGone, try setGate(gate) != nil else { return false }
        guard gate.state == .stopped, let slot = CredentialSlot(of: gate.route) else { return true }
        // An unreadable credential of the app must not keep the gate from being stored.
        let record = try? credentialRecords(app: slot.app).first { $0.isUsed(on: gate.route.route) }
        if record?.health.isStopped == true { return true }
        try setHealth(.stopped(at: now, reason: gate.reason), at: slot)
        return true
    }
}

/// Keeps this process's view of routes and the stored one together: reads gates that other processes closed or opened,
/// and writes those that could not be written before.
struct RouteKeeper: Sendable {
    private static let interval: Duration = .seconds(1)
    private static let gatesPerRead = 500
    /// A clock that is corrected by less is not regarded as set.
    private static let stepMin: Duration = .seconds(5)

    let context: DeliveryContext

    /// Runs once, before anything is leased.
    func start() async {
        if context.isOnlyProcess { try? await context.store.write(.control) { try $0.endProbes() } }
        await read()
    }

    /// Runs until the process stops.
    func run() async {
        let sleeper = context.stop.sleeper()
        var clock = ClockOffset(context.time)
        while await context.stop.pause(sleeper, atMost: Self.interval) {
            let step = clock.step(context.time)
            // The store compares the ends of pauses with the wall clock.
            if step > Self.stepMin || step < .zero - Self.stepMin {
                context.routes.clockWasSet(uptime: context.time.uptime)
            }
            await context.saveGates(of: nil, nil)
            if !context.isOnlyProcess { await read() }
        }
    }

    private func read() async {
        do {
            while true {
                let last = context.routes.lastChange
                let gates = try await context.store.read { try $0.gates(changedAfter: last, limit: Self.gatesPerRead) }
                let isComplete = gates.count < Self.gatesPerRead
                context.routes.adopt(
                    gates, after: last, isComplete: isComplete, now: context.time.now, uptime: context.time.uptime)
                if isComplete { return }
            }
        } catch {
            context.logFailure("the state of routes could not be read", error)
        }
    }
}
