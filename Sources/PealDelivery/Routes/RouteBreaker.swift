internal import PealCore
internal import Synchronization

/// Decides whether an app's route may be used: receives the tallies of pages and the route's troubles, and answers who
/// asks to begin a page. Instants are of `TimeSource.uptime`.
struct RouteBreaker: Sendable {
    /// What a worker may do now.
    enum Gate: Sendable, Hashable {
        case open
        /// One small page, to learn whether the route works again.
        case probe
        case closed(until: Duration)
    }

    /// How the devices of a page were answered.
    struct Tally: Sendable, Hashable {
        var answers = 0
        var accepted = 0
        var suspicious = 0
        /// Every deferred device.
        var deferred = 0
        /// Of those, the ones deferred for trouble of the provider and not of their own address.
        var troubled = 0

        mutating func add(_ other: Tally) {
            answers += other.answers
            accepted += other.accepted
            suspicious += other.suspicious
            deferred += other.deferred
            troubled += other.troubled
        }

        /// Scales down to at most `count` answers, so that old ones weigh little.
        mutating func fade(to count: Int) {
            guard answers > count else { return }
            accepted = accepted * count / answers
            suspicious = suspicious * count / answers
            deferred = deferred * count / answers
            troubled = troubled * count / answers
            answers = count
        }
    }

    /// What follows from a page.
    struct Judgement: Sendable, Hashable {
        /// false: so many addresses look dead that the mistake is probably ours, and they are kept.
        var trustsSuspicious = true
        var hasTripped = false
        /// Set when the route is stopped now and was not before.
        var stopReason: String?
        var hasReopened = false
    }

    private struct Closure {
        var until: Duration
        var isStop: Bool
        /// When the probe in flight counts as lost; nil = there is none.
        var probeEnds: Duration?
    }

    static let memoryAnswers = 100
    private static let pauseSeconds: [Int64] = [10, 30, 60, 120, 300]
    private static let stopSeconds: [Int64] = [30, 60, 120, 300, 900]
    private static let backOffSeconds: [Int64] = [1, 2, 4, 8, 15, 30, 60]
    private static let probeLife: Duration = .seconds(60)

    /// Whether every address names a host of its own, so that the answers of some say nothing about the others.
    private let hasManyHosts: Bool
    private var closure: Closure?
    private var level = 0
    private var backOffs = 0
    private var recent = Tally()

    init(hasManyHosts: Bool = false) { self.hasManyHosts = hasManyHosts }

    /// nil while the route is open.
    var closedUntil: Duration? { closure?.until }
    var isStopped: Bool { closure?.isStop ?? false }

    /// Asks to begin a page. Whoever gets `probe` must report it with `judge` or `backOff`; otherwise it counts as lost
    /// after a minute.
    mutating func enter(now: Duration) -> Gate {
        guard var closure else { return .open }
        guard now >= closure.until else { return .closed(until: closure.until) }
        if let ends = closure.probeEnds, now < ends { return .closed(until: min(ends, now + .seconds(1))) }
        closure.probeEnds = now + Self.probeLife
        self.closure = closure
        return .probe
    }

    /// Judges a page's answers before anything follows from them.
    mutating func judge(_ page: Tally, isProbe: Bool, now: Duration) -> Judgement {
        var judgement = Judgement()
        guard page.answers > 0 else { return judgement }
        recent.fade(to: Self.memoryAnswers)
        recent.add(page)
        let isSuspect = page.suspicious > 0 && hasMassRetirement
        judgement.trustsSuspicious = !isSuspect
        if isSuspect {
            if !isStopped || isProbe { judgement.stopReason = isStopped ? nil : "MassRetirement" }
            judgement.hasTripped = !isStopped
            close(isStop: true, isProbe: isProbe, now: now)
        } else if isFailing(page) {
            judgement.hasTripped = closure == nil
            close(isStop: false, isProbe: isProbe, now: now)
        } else if isProbe, closure != nil {
            closure = nil
            level = 0
            backOffs = 0
            judgement.hasReopened = true
        } else if closure == nil, page.accepted > 0 {
            backOffs = 0
            level = 0
        }
        return judgement
    }

    /// The provider asked the whole app to wait.
    mutating func hold(_ after: Duration, now: Duration) {
        let until = now + min(max(after, .seconds(1)), BackOff.longest)
        closure = Closure(until: max(until, closure?.until ?? .zero), isStop: isStopped)
    }

    /// Stops the route: nothing can be accepted until the configuration is fixed. Returns whether that is new.
    mutating func stop(isProbe: Bool, now: Duration) -> Bool {
        let isNew = !isStopped
        close(isStop: true, isProbe: isProbe, now: now)
        return isNew
    }

    /// Requests did not reach the provider, or need a fresh connection or credential: a short, growing pause.
    mutating func backOff(isProbe: Bool, now: Duration) {
        let seconds = Self.backOffSeconds[min(backOffs, Self.backOffSeconds.count - 1)]
        if let closure, !isProbe, now < closure.until { return }
        backOffs += 1
        closure = Closure(until: now + .seconds(seconds), isStop: isStopped)
    }

    /// Ends a probe without a result.
    mutating func abandonProbe() { closure?.probeEnds = nil }

    /// Opens the route: its configuration changed.
    mutating func reset() { self = RouteBreaker(hasManyHosts: hasManyHosts) }

    private mutating func close(isStop: Bool, isProbe: Bool, now: Duration) {
        if let closure, !isProbe, closure.isStop || !isStop { return }
        let steps = isStop ? Self.stopSeconds : Self.pauseSeconds
        let seconds = steps[min(level, steps.count - 1)]
        level += 1
        closure = Closure(until: now + .seconds(seconds), isStop: isStop || isStopped)
    }

    /// Suspicious answers exceed their share, and acceptances do not outnumber them: that is more than an ageing
    /// audience.
    private var hasMassRetirement: Bool {
        recent.answers >= Limits.breakerAnswersMin
            && Double(recent.suspicious) > Limits.breakerSuspiciousShare * Double(recent.answers)
            && recent.accepted <= recent.suspicious
    }

    /// A large page decides by itself, small ones together. Where there are many hosts, such as those of Web Push,
    /// deferrals pause the route only while no host accepts anything.
    private func isFailing(_ page: Tally) -> Bool {
        let accepted = page.answers >= Limits.breakerAnswersMin ? page.accepted : recent.accepted
        if hasManyHosts, accepted > 0 { return false }
        if page.answers >= Limits.breakerAnswersMin {
            return Double(page.deferred) > Limits.breakerDeferredShare * Double(page.answers)
        }
        return page.troubled > 0 && recent.answers >= Limits.breakerAnswersMin
            && Double(recent.troubled) > Limits.breakerDeferredShare * Double(recent.answers)
    }
}

/// The breakers of all routes that this process uses. A route without trouble is the same as a new one.
final class RouteBoard: Sendable {
    private let breakers = Mutex<[ActiveRoute: RouteBreaker]>([:])
    private let resets = Mutex<Set<ActiveRoute>>([])

    /// Runs `body` on the route's breaker.
    func change<Result>(_ route: ActiveRoute, _ body: (inout RouteBreaker) -> Result) -> Result {
        breakers.withLock { body(&$0[route, default: RouteBreaker(hasManyHosts: route.route.hasManyHosts)]) }
    }

    /// Opens a route whose credential changed. The scheduler frees the slices that waited only for it.
    func reset(_ route: ActiveRoute) {
        breakers.withLock { $0[route] = nil }
        _ = resets.withLock { $0.insert(route) }
    }

    /// The routes that were reset since the last call.
    func takeResets() -> Set<ActiveRoute> {
        resets.withLock { routes in
            defer { routes = [] }
            return routes
        }
    }
}
