import PealTesting
import Testing

@testable import PealDelivery

@Suite("The drawing of a route")
struct RouteDrawingTests {
    private typealias Tally = RouteBreaker.Tally

    /// What can happen to a route, each with the breaker, the time, and whether the event is of a probe.
    private static let events: [@Sendable (inout RouteBreaker, Duration, Bool) -> Void] = [
        { $0.hold(.seconds(60), isProbe: $2, now: $1) },
        { $0.backOff(isProbe: $2, now: $1) },
        { _ = $0.stop(by: nil, isProbe: $2, now: $1) },
        { _ = $0.judge(Tally(answers: 1000, suspicious: 1000), of: nil, isProbe: $2, now: $1) },
        {
            _ = $0.judge(
                Tally(answers: 1000, deferred: 1000, deferredByProvider: 1000), of: nil, isProbe: $2, now: $1)
        },
        { _ = $0.judge(Tally(answers: 1, accepted: 1), of: nil, isProbe: $2, now: $1) },
        // A probe without a result, or anything else that is abandoned.
        { _, _, _ in },
        { breaker, now, _ in breaker.clockWasSet(now: now) },
        // The credential is put, deleted or verified.
        { breaker, _, _ in breaker = RouteBreaker() },
    ]

    @Test("has exactly the arrows that the breaker takes")
    func arrows() throws {
        func state(_ breaker: RouteBreaker) -> String {
            breaker.closedUntil == nil ? "open" : breaker.isStopped ? "stopped" : "paused"
        }
        var arrows: Set = ["[*] --> \(state(RouteBreaker()))"]
        // A few events in a row reach every state.
        var breakers = [RouteBreaker()]
        for _ in 0..<3 {
            var next: [RouteBreaker] = []
            for breaker in breakers {
                for event in Self.events {
                    var used = breaker
                    event(&used, .zero, false)
                    next.append(used)
                    if state(used) != state(breaker) { arrows.insert("\(state(breaker)) --> \(state(used))") }
                    var probed = breaker
                    guard let end = probed.closedUntil, probed.enter(nil, now: end) == .probe else { continue }
                    arrows.insert("\(state(breaker)) --> probing")
                    event(&probed, end, true)
                    probed.abandonProbe(of: nil)
                    arrows.insert("probing --> \(state(probed))")
                    next.append(probed)
                }
            }
            breakers = next
        }
        #expect(try arrows == StateDrawing.arrows("Route"))
    }
}
