package import PealCore
internal import Synchronization

/// Counts requests and their durations.
package final class HTTPMetrics: Sendable {
    /// The labels by which requests are counted.
    package struct Series: Sendable, Hashable {
        package let method: String
        /// The pattern of the path; `none` for an unknown path.
        package let route: String
        package let status: Int

        /// - Parameter method: As `HTTPRequest.Method.label`.
        package init(method: String, route: String, status: Int) {
            self.method = method
            self.route = route
            self.status = status
        }
    }

    /// The counts at one instant.
    package struct Snapshot: Sendable {
        package internal(set) var requests: [Series: Int] = [:]
        /// By the pattern of the path.
        package internal(set) var durations: [String: LatencyHistogram] = [:]
        package internal(set) var running = 0
    }

    private let state = Mutex(Snapshot())

    package init() {}

    package var snapshot: Snapshot { state.withLock { $0 } }

    /// Counts a request that another component answered, such as the console.
    package func count(_ series: Series, after duration: Duration) {
        state.withLock { state in
            state.requests[series, default: 0] += 1
            state.durations[series.route, default: LatencyHistogram()].add(duration)
        }
    }

    func begin() { state.withLock { $0.running += 1 } }

    /// - Parameter series: nil for a request whose connection broke.
    func end(_ series: Series?, after duration: Duration) {
        state.withLock { $0.running -= 1 }
        if let series { count(series, after: duration) }
    }
}
