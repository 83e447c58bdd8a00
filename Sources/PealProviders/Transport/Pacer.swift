import PealCore
import Synchronization

/// How many requests may begin now: a token bucket. Its rate rises from `start` to `most` within
/// `Limits.paceRampSeconds`, and its credit is limited to a fraction of a second, so that requests are spread. A value;
/// instants are from `TimeSource.uptime`.
struct Pacer: Sendable {
    /// Requests per second.
    struct Rates: Sendable, Hashable {
        var start: Double
        var most: Double

        init(start: Int, most: Int) {
            self.most = Double(max(1, most))
            self.start = min(Double(max(1, start)), self.most)
        }
    }

    private let rates: Rates
    /// How many servers share the rates.
    var servers = 1
    /// The rate at the start of the current ramp, and when the ramp started; nil if nothing was sent yet.
    private var low: Double
    private var rampAt: Duration?
    private var credit = 0.0
    private var countedAt = Duration.zero
    private var usedAt = Duration.zero
    private(set) var heldUntil = Duration.zero

    init(_ rates: Rates) {
        self.rates = rates
        low = rates.start
    }

    /// How many requests may begin at `uptime`; 0 means to ask again after `wait`.
    mutating func allowance(at uptime: Duration) -> Int {
        guard uptime >= heldUntil else { return 0 }
        count(at: uptime)
        return max(0, Int(credit))
    }

    /// Records that requests began. Overdrawn credit is paid back by waiting.
    mutating func spend(_ requests: Int, at uptime: Duration) {
        credit -= Double(requests)
        usedAt = max(usedAt, uptime)
    }

    /// The provider asked to wait: no request begins until then, and the ramp restarts at half the start rate, or at
    /// half the current rate if that is lower. Many requests get that answer at the same time, so one wait halves the
    /// rate only once.
    mutating func throttle(for wait: Duration, at uptime: Duration) {
        let until = uptime + max(wait, .seconds(1))
        if uptime >= heldUntil { low = max(1, min(rates.start, wholeRate(at: uptime)) / 2) }
        heldUntil = max(heldUntil, until)
        rampAt = heldUntil
        countedAt = heldUntil
        usedAt = heldUntil
        credit = 0
    }

    /// The time until `allowance` is at least 1.
    func wait(at uptime: Duration) -> Duration {
        if uptime < heldUntil { return heldUntil - uptime }
        return .seconds(max(0, 1 - credit) / rate(at: uptime))
    }

    /// This server's share of the rate.
    func rate(at uptime: Duration) -> Double { wholeRate(at: uptime) / Double(servers) }

    private func wholeRate(at uptime: Duration) -> Double {
        guard let rampAt else { return low }
        let share = (uptime - rampAt) / .seconds(Limits.paceRampSeconds)
        return low + (rates.most - low) * min(1, max(0, share))
    }

    private mutating func count(at uptime: Duration) {
        if rampAt == nil || uptime - usedAt >= .seconds(Limits.paceIdleSeconds) {
            low = rates.start
            rampAt = uptime
            usedAt = uptime
            countedAt = uptime
            credit = burst(low / Double(servers))
        }
        guard uptime > countedAt else { return }
        let rate = rate(at: uptime)
        credit = min(credit + rate * ((uptime - countedAt) / .seconds(1)), burst(rate))
        countedAt = uptime
    }

    private func burst(_ rate: Double) -> Double { max(1, rate / Double(Limits.paceBurstsPerSecond)) }
}

/// A pacer shared by several pools: if a push network counts their requests together, Peal paces them together.
final class Pace: Sendable {
    private let pacer: Mutex<Pacer>

    init(_ rates: Pacer.Rates) { pacer = Mutex(Pacer(rates)) }

    /// How many requests may begin; if none, how long to wait before asking again.
    func allowance(at uptime: Duration) -> (requests: Int, wait: Duration) {
        pacer.withLock { pacer in
            let requests = pacer.allowance(at: uptime)
            return (requests, requests > 0 ? .zero : pacer.wait(at: uptime))
        }
    }

    func spend(_ requests: Int, at uptime: Duration) { pacer.withLock { $0.spend(requests, at: uptime) } }
    func throttle(for wait: Duration, at uptime: Duration) { pacer.withLock { $0.throttle(for: wait, at: uptime) } }

    /// Shares the rates with other servers.
    func share(among servers: Int) { pacer.withLock { $0.servers = max(1, servers) } }

    /// How long the provider's requested wait still lasts; nil if it is over.
    func hold(at uptime: Duration) -> Duration? {
        let rest = pacer.withLock { $0.heldUntil } - uptime
        return rest > .zero ? rest : nil
    }
}
