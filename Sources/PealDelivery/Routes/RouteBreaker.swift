internal import PealCore
internal import Synchronization

/// Decides whether an app's route may be used: receives what pages brought and what troubles there were, hands on
/// gates. Instants are of `TimeSource.uptime`.
struct RouteBreaker: Sendable {
    /// What a worker may do now.
    enum Gate: Sendable, Hashable {
        case open
        /// One small page, to learn whether the route works again.
        case probe
        case closed(until: Duration)
    }

    /// What a page brought.
    struct Tally: Sendable, Hashable {
        var answers = 0
        var accepted = 0
        var suspicious = 0
        /// Every device put off.
        var deferred = 0
        /// Of those, the ones that met trouble of the provider and not of their own address.
        var troubled = 0

        mutating func add(_ other: Tally) {
            answers += other.answers
            accepted += other.accepted
            suspicious += other.suspicious
            deferred += other.deferred
            troubled += other.troubled
        }

        /// Scales down to at most `count` answers, so that what is old weighs little.
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
        /// false: so many addresses look dead that the mistake is probably ours; they stay.
        var trustsSuspicious = true
        var hasTripped = false
        /// Set when the route is stopped now and was not before.
        var stopReason: String?
        var hasReopened = false
    }

    private struct Closure {
        var until: Duration
        var isStop: Bool
        /// When a probe that was let through counts as lost; nil = none is under way.
        var probeEnds: Duration?
    }

    static let memoryAnswers = 100
    private static let pauseSeconds: [Int64] = [10, 30, 60, 120, 300]
    private static let stopSeconds: [Int64] = [30, 60, 120, 300, 900]
    private static let stumbleSeconds: [Int64] = [1, 2, 4, 8, 15, 30, 60]
    private static let probeLife: Duration = .seconds(60)

    /// Whether every address names a host of its own, so that what some of them answer says nothing of the rest.
    private let hasManyHosts: Bool
    private var closure: Closure?
    private var level = 0
    private var stumbles = 0
    private var window = Tally()

    init(hasManyHosts: Bool = false) { self.hasManyHosts = hasManyHosts }

    /// nil while the route is open.
    var closedUntil: Duration? { closure?.until }
    var isStopped: Bool { closure?.isStop ?? false }

    /// Asks to begin a page. Whoever gets `probe` must report it with `judge` or `stumble`, or it is lost after a
    /// minute.
    mutating func enter(now: Duration) -> Gate {
        guard var closure else { return .open }
        guard now >= closure.until else { return .closed(until: closure.until) }
        if let ends = closure.probeEnds, now < ends { return .closed(until: min(ends, now + .seconds(1))) }
        closure.probeEnds = now + Self.probeLife
        self.closure = closure
        return .probe
    }

    /// Takes in a page's answers before anything is done about them.
    mutating func judge(_ page: Tally, isProbe: Bool, now: Duration) -> Judgement {
        var judgement = Judgement()
        guard page.answers > 0 else { return judgement }
        window.fade(to: Self.memoryAnswers)
        window.add(page)
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
            stumbles = 0
            judgement.hasReopened = true
        } else if closure == nil, page.accepted > 0 {
            stumbles = 0
            level = 0
        }
        return judgement
    }

    /// The provider asked the whole app to wait.
    mutating func hold(_ after: Duration, now: Duration) {
        let until = now + min(max(after, .seconds(1)), BackOff.longest)
        closure = Closure(until: max(until, closure?.until ?? .zero), isStop: isStopped)
    }

    /// Nothing can be accepted before somebody mends the configuration. Returns whether that is new.
    mutating func stop(isProbe: Bool, now: Duration) -> Bool {
        let isNew = !isStopped
        close(isStop: true, isProbe: isProbe, now: now)
        return isNew
    }

    /// Requests did not reach the provider, or need a fresh connection or credential: a short, growing pause.
    mutating func stumble(isProbe: Bool, now: Duration) {
        let seconds = Self.stumbleSeconds[min(stumbles, Self.stumbleSeconds.count - 1)]
        if let closure, !isProbe, now < closure.until { return }
        stumbles += 1
        closure = Closure(until: now + .seconds(seconds), isStop: isStopped)
    }

    /// Lets a probe go that ended without telling anything.
    mutating func abandonProbe() { closure?.probeEnds = nil }

    /// Somebody mended the configuration.
    mutating func reset() { self = RouteBreaker(hasManyHosts: hasManyHosts) }

    private mutating func close(isStop: Bool, isProbe: Bool, now: Duration) {
        if let closure, !isProbe, closure.isStop || !isStop { return }
        let steps = isStop ? Self.stopSeconds : Self.pauseSeconds
        let seconds = steps[min(level, steps.count - 1)]
        level += 1
        closure = Closure(until: now + .seconds(seconds), isStop: isStop || isStopped)
    }

    /// Suspicious answers pass their share, and successes do not outnumber them: that is no ageing audience.
    private var hasMassRetirement: Bool {
        window.answers >= Limits.breakerAnswersMin
            && Double(window.suspicious) > Limits.breakerSuspiciousShare * Double(window.answers)
            && window.accepted <= window.suspicious
    }

    /// A large page decides by itself; small ones by what they brought together. Where there are many hosts, as of Web
    /// Push, deferrals pause the route only while nobody accepts anything.
    private func isFailing(_ page: Tally) -> Bool {
        let accepted = page.answers >= Limits.breakerAnswersMin ? page.accepted : window.accepted
        if hasManyHosts, accepted > 0 { return false }
        if page.answers >= Limits.breakerAnswersMin {
            return Double(page.deferred) > Limits.breakerDeferredShare * Double(page.answers)
        }
        return page.troubled > 0 && window.answers >= Limits.breakerAnswersMin
            && Double(window.troubled) > Limits.breakerDeferredShare * Double(window.answers)
    }
}

/// The breakers of all routes that this process uses. A route that never had trouble and a new one are the same.
final class RouteBoard: Sendable {
    private let breakers = Mutex<[ActiveRoute: RouteBreaker]>([:])

    /// Runs `body` on the route's breaker.
    func change<Result>(_ route: ActiveRoute, _ body: (inout RouteBreaker) -> Result) -> Result {
        breakers.withLock { body(&$0[route, default: RouteBreaker(hasManyHosts: route.route.hasManyHosts)]) }
    }

    func reset(_ route: ActiveRoute) {
        breakers.withLock { $0[route] = nil }
    }
}
