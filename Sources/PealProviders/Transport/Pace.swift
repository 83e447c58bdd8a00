import Synchronization

/// A pacer that several pools share: what a push network counts together must be paced together.
final class Pace: Sendable {
    private let pacer: Mutex<Pacer>

    init(_ rates: Pacer.Rates) { pacer = Mutex(Pacer(rates)) }

    /// Requests that may begin, or how long nobody needs to ask again.
    func allowance(at uptime: Duration) -> (requests: Int, wait: Duration) {
        pacer.withLock { pacer in
            let requests = pacer.allowance(at: uptime)
            return (requests, requests > 0 ? .zero : pacer.wait(at: uptime))
        }
    }

    func spend(_ requests: Int, at uptime: Duration) { pacer.withLock { $0.spend(requests, at: uptime) } }
    func throttle(for wait: Duration, at uptime: Duration) { pacer.withLock { $0.throttle(for: wait, at: uptime) } }

    /// How long the provider still wants nothing; nil when it does.
    func hold(at uptime: Duration) -> Duration? {
        let rest = pacer.withLock { $0.heldUntil } - uptime
        return rest > .zero ? rest : nil
    }
}
