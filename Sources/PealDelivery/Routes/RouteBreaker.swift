internal import PealCore
internal import Synchronization

/// Decides whether an app's route may be used: receives the tallies of pages and the route's problems, and decides
/// whether a page may begin. Instants are of `TimeSource.uptime`.
struct RouteBreaker: Sendable {
    /// What a worker may do now.
    enum Gate: Sendable, Hashable {
        case open
        /// One small page, to learn whether the route works again.
        case probe
        case closed(until: Duration)
    }

    /// The answers to the devices of a page.
    struct Tally: Sendable, Hashable {
        var answers = 0
        var accepted = 0
        var suspicious = 0
        /// Every deferred device.
        var deferred = 0
        /// How many of these were deferred because of the provider and not because of their own address.
        var deferredByProvider = 0
        /// How many of the accepted devices the provider's other environment accepted.
        var healed = 0
        /// The acceptances that show that the credential works.
        var proofs: Int { accepted - healed }

        mutating func add(_ other: Tally) {
            answers += other.answers
            accepted += other.accepted
            suspicious += other.suspicious
            deferred += other.deferred
            deferredByProvider += other.deferredByProvider
            healed += other.healed
        }

        /// Scales down to at most `count` answers, so that old answers have little weight.
        mutating func fade(to count: Int) {
            guard answers > count else { return }
            accepted = accepted * count / answers
            suspicious = suspicious * count / answers
            deferred = deferred * count / answers
            deferredByProvider = deferredByProvider * count / answers
            healed = healed * count / answers
            answers = count
        }

        /// Leaves out the suspicious answers, which say nothing about the route.
        mutating func dropSuspicious() {
            answers -= suspicious
            suspicious = 0
        }
    }

    /// What happens to addresses that were reported as dead for a reason that may be Peal's own mistake.
    enum SuspiciousAddresses: Sendable {
        case retire
        /// The page was sent under a credential that has since been replaced. The attempt does not count.
        case retryUncounted
        /// There are so many that the route is stopped. They are tried again once it is open.
        case retryOnOpenRoute
        /// There are many, but the credential works. They wait until enough is accepted after them.
        case retryLater
    }

    /// The consequences of a page for its route and its addresses.
    struct Judgement: Sendable, Hashable {
        var suspiciousAddresses = SuspiciousAddresses.retire
        /// Whether this is the first doubt about addresses of the message although the credential works.
        var isNewDoubt = false
        /// Set when the route is stopped now and was not before.
        var stopReason: String?
        /// Whether the message was refused while others are accepted: only this message waits.
        var isRefusedAlone = false
        var hasReopened = false
    }

    /// The stored part of a breaker, for other processes and later runs.
    struct Memory: Sendable, Hashable {
        /// nil while the route is open.
        var until: Duration?
        var isStop = false
        var level = 0
        var backOffs = 0
        /// Why it is closed.
        var reason = ""
        /// The message whose refusal stopped the route.
        var suspect: MessageID?
    }

    private struct Probe {
        let message: MessageID?
        /// When the probe counts as lost.
        let ends: Duration
    }

    static let memoryAnswers = 100
    /// How long a message waits if it is refused while others are accepted.
    static let refusedWait: Duration = .seconds(900)
    private static let pauseSeconds: [Int64] = [10, 30, 60, 120, 300]
    private static let stopSeconds: [Int64] = [30, 60, 120, 300, 900]
    private static let backOffSeconds: [Int64] = [1, 2, 4, 8, 15, 30, 60]
    private static let probeLife: Duration = .seconds(Limits.probeSeconds)
    /// The store has whole milliseconds of another clock.
    private static let slack: Duration = .milliseconds(250)
    private static let refusedMax = 64

    /// Whether every address names its own host, so that the answers of some hosts say nothing about the others.
    private let hasManyHosts: Bool
    private(set) var memory = Memory()
    private var probes: [Probe] = []
    /// Probes in a row whose answers said nothing about the route.
    private var emptyProbes = 0
    /// Messages that were refused while others were accepted.
    private var refused: Set<MessageID> = []
    private var recent = Tally()
    private var evidence = RouteEvidence()

    init(hasManyHosts: Bool = false) { self.hasManyHosts = hasManyHosts }

    /// nil while the route is open.
    var closedUntil: Duration? { memory.until }
    var isStopped: Bool { memory.until != nil && memory.isStop }
    /// Whether the breaker can be forgotten: only the memory of recent answers would be lost.
    var isLikeNew: Bool { memory == Memory() && probes.isEmpty && refused.isEmpty }

    /// Whether the route is paused or stopped, and was not in the state `before`.
    func hasTripped(since before: RouteBreaker) -> Bool {
        closedUntil != nil && before.closedUntil == nil || isStopped && !before.isStopped
    }

    /// Applies what another process, or an earlier run, stored.
    mutating func adopt(_ memory: Memory) {
        self.memory = memory
        probes = []
    }

    /// Asks to begin a page. A caller that gets `probe` must report its result with `judge` or `apply`; otherwise it
    /// counts as lost after `Limits.probeSeconds`. There is at most one probe of each message at a time.
    /// - Parameter isLeasedForProbe: Whether the store chose the message for a probe. Then it is tried even if another
    ///   message of the same probe was refused meanwhile: otherwise a message that is always a little slower than a
    ///   refused one would never be tried.
    mutating func enter(_ message: MessageID?, isLeasedForProbe: Bool = false, now: Duration) -> Gate {
        if isLeasedForProbe {
            probes.append(Probe(message: message, ends: now + Self.probeLife))
            return .probe
        }
        guard let until = memory.until else { return .open }
        guard now + Self.slack >= until else { return .closed(until: until) }
        probes.removeAll { $0.ends <= now }
        guard probes.count < Limits.probeMessagesMax, !probes.contains(where: { $0.message == message }) else {
            return .closed(until: now + .seconds(1))
        }
        probes.append(Probe(message: message, ends: now + Self.probeLife))
        return .probe
    }

    /// Judges a page's answers before they have any effect.
    /// - Parameters:
    ///   - isRepeated: Whether its devices were tried before.
    ///   - version: `AccessCache.version` of the credential. Acceptances under another one prove nothing.
    mutating func judge(
        _ answers: Tally, of message: MessageID?, isProbe: Bool, isRepeated: Bool = false, version: Int = 0,
        now: Duration
    ) -> Judgement {
        var (judgement, page) = (Judgement(), answers)
        guard page.answers > 0 else { return judgement }
        // A page is not evidence for itself. But one acceptance is enough for a probe.
        let isKnownToWork = evidence.isFresh(version: version, at: now) || isProbe && page.proofs > 0
        evidence.take(page, version: version, now: now)
        // What one host accepts says nothing about the addresses of others.
        if isRepeated, !hasManyHosts, evidence.isOfAddresses(of: message, besides: answers) { page.dropSuspicious() }
        recent.fade(to: Self.memoryAnswers)
        recent.add(page)
        let isSuspect = page.suspicious > 0 && hasMassRetirement
        if isSuspect {
            judgement.suspiciousAddresses = isKnownToWork ? .retryLater : .retryOnOpenRoute
            let isNew = evidence.doubt(message, devices: page.suspicious, isRepeated: isRepeated, now: now)
            judgement.isNewDoubt = isKnownToWork && isNew
        }
        if isSuspect, !isKnownToWork {
            if !isStopped { judgement.stopReason = Reason.massRetirement }
            close(isStop: true, reason: Reason.massRetirement, isProbe: isProbe, now: now)
        } else if isFailing(page, isProbe: isProbe) {
            close(isStop: false, reason: "TooManyDeferrals", isProbe: isProbe, now: now)
        } else if isProbe, memory.until != nil {
            reopen(after: message)
            judgement.hasReopened = true
        }
        if page.accepted > 0, let message { refused.remove(message) }
        return judgement
    }

    /// A probe of `message` succeeded. If another message's refusal stopped the route, that one is the cause.
    private mutating func reopen(after message: MessageID?) {
        if let suspect = memory.suspect, suspect != message { noteRefused(suspect) }
        memory = Memory()
    }

    private mutating func noteRefused(_ message: MessageID) {
        if refused.count >= Self.refusedMax { refused = [] }
        refused.insert(message)
    }

    /// Applies a problem that keeps the route from being used, and adds its consequences to those of the page.
    mutating func apply(
        _ problem: (kind: RouteProblem, reason: String), of message: MessageID?, isProbe: Bool,
        to judgement: inout Judgement, now: Duration
    ) {
        let (kind, reason) = problem
        switch kind {
        case .stop: stop(by: message, reason: reason, isProbe: isProbe, &judgement, now: now)
        case .hold(let after): hold(after, reason: reason, isProbe: isProbe, now: now)
        case .unsent, .reconnect, .refreshCredential: backOff(reason: reason, isProbe: isProbe, now: now)
        }
    }

    /// The most devices of a probe's page. It grows while every address looked dead, and while no answer says anything
    /// about the route: such devices may be adjacent, and a single one that accepts opens the route.
    var probeDevicesMax: Int {
        let steps = memory.reason == Reason.massRetirement ? max(memory.level - 1, 0) : emptyProbes
        return min(Limits.pageDevicesMax, Limits.probeDevicesMax << (2 * min(steps, 8)))
    }

    /// The provider asked Peal to pause the whole app. The pause grows with each probe that gets the same answer.
    mutating func hold(_ after: Duration, reason: String = "", isProbe: Bool = false, now: Duration) {
        let isLonger = memory.until.map { isProbe && $0 <= now + Self.slack } ?? true
        let until = now + BackOff.grown(max(after, .seconds(1)), attempt: isLonger ? memory.level + 1 : memory.level)
        if isLonger { memory.level += 1 }
        if memory.until.map({ $0 < until }) ?? true { memory.until = until }
        memory.reason = reason
        probes = []
    }

    /// Stops the route: nothing can be accepted until the configuration is fixed. A message that is refused while
    /// others are accepted does not stop the route.
    private mutating func stop(
        by message: MessageID?, reason: String, isProbe: Bool, _ judgement: inout Judgement, now: Duration
    ) {
        if memory.until == nil, let message, isProbe || refused.contains(message) {
            noteRefused(message)
            judgement.isRefusedAlone = true
            return
        }
        if !isStopped { (memory.suspect, judgement.stopReason) = (message, reason) }
        close(isStop: true, reason: reason, isProbe: isProbe, now: now)
    }

    /// Requests did not reach the provider, or need a fresh connection or credential: a short, growing pause.
    mutating func backOff(reason: String = "", isProbe: Bool, now: Duration) {
        let seconds = Self.backOffSeconds[min(memory.backOffs, Self.backOffSeconds.count - 1)]
        if let until = memory.until, !isProbe || until > now + Self.slack { return }
        memory.backOffs += 1
        memory.until = now + .seconds(seconds)
        memory.reason = reason
    }

    /// The wall clock was set. A wrong clock may be why a credential was refused, so a stopped route is probed now. A
    /// wait that the provider stated stays; it is recognized because it is longer than any other.
    mutating func clockWasSet(now: Duration) {
        guard isStopped, memory.reason != Reason.massRetirement, let until = memory.until,
            until - now <= .seconds(Self.stopSeconds.max() ?? 0)
        else { return }
        memory.until = min(until, now)
    }

    /// Ends a probe whose page was answered.
    /// - Parameter isEmpty: Whether no answer says anything about the route, for example because they are all of
    ///   untrusted hosts.
    mutating func endProbe(of message: MessageID?, isEmpty: Bool) {
        emptyProbes = isEmpty ? emptyProbes + 1 : 0
        abandonProbe(of: message)
    }

    /// Ends a probe, with or without a result.
    mutating func abandonProbe(of message: MessageID?) { probes.removeAll { $0.message == message } }

    /// Of several probes that fail together, only the first one lengthens the pause.
    private mutating func close(isStop: Bool, reason: String, isProbe: Bool, now: Duration) {
        let isLonger = isProbe && memory.until.map { $0 <= now + Self.slack } ?? true
        if memory.until != nil, !isLonger, memory.isStop || !isStop { return }
        let steps = isStop ? Self.stopSeconds : Self.pauseSeconds
        let seconds = steps[min(memory.level, steps.count - 1)]
        memory.level += 1
        memory.isStop = isStop || isStopped
        memory.until = now + .seconds(seconds)
        memory.reason = reason
    }

    /// Suspicious answers exceed their share, and acceptances do not outnumber them: this is more than the usual share
    /// of dead addresses.
    private var hasMassRetirement: Bool {
        recent.answers >= Limits.breakerAnswersMin
            && Double(recent.suspicious) > Limits.breakerSuspiciousShare * Double(recent.answers)
            && recent.accepted <= recent.suspicious
    }

    /// A large page decides by itself, small ones together. If a network has many hosts, such as Web Push, deferrals
    /// pause the route only while no host accepts anything. If it has one, a probe fails if the provider defers every
    /// device or all answers are lost.
    private func isFailing(_ page: Tally, isProbe: Bool) -> Bool {
        if isProbe, !hasManyHosts, page.deferredByProvider == page.answers { return true }
        let accepted = page.answers >= Limits.breakerAnswersMin ? page.accepted : recent.accepted
        if hasManyHosts, accepted > 0 { return false }
        if page.answers >= Limits.breakerAnswersMin {
            return Double(page.deferred) > Limits.breakerDeferredShare * Double(page.answers)
        }
        return page.deferredByProvider > 0 && recent.answers >= Limits.breakerAnswersMin
            && Double(recent.deferredByProvider) > Limits.breakerDeferredShare * Double(recent.answers)
    }
}
