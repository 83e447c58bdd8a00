internal import Foundation
package import PealCore

/// The system's clocks. `uptime` is `ContinuousClock`, which counts the time that the machine sleeps.
package struct SystemTime: TimeSource {
    private static let start = ContinuousClock.now

    package init() {}

    package var now: Timestamp { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
    package var uptime: Duration { ContinuousClock.now - Self.start }
    package func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system's cryptographic generator.
struct SystemRandomness: Randomness {
    func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
