internal import Foundation
internal import PealCore

/// The system's clocks. `uptime` is `ContinuousClock`, which counts the time that the machine sleeps.
struct SystemTime: TimeSource {
    private static let start = ContinuousClock.now

    var now: Timestamp { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
    var uptime: Duration { ContinuousClock.now - Self.start }
    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
