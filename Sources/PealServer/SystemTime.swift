internal import Foundation
package import PealCore

/// The system's clocks. `uptime` is `ContinuousClock`, which goes on while the machine sleeps.
package struct SystemTime: TimeSource {
    private static let start = ContinuousClock.now

    package init() {}

    package var now: Timestamp { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
    package var uptime: Duration { ContinuousClock.now - Self.start }
    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system's cryptographically secure generator.
struct SystemRandomness: Randomness {
    func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
