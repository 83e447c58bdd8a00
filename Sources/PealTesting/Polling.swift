/// Waiting in tests for something that happens elsewhere: in another task or another process.
package enum Polling {
    package struct Timeout: Error, CustomStringConvertible {
        package let description: String
    }

    /// Evaluates `condition` every few milliseconds until it holds.
    /// - Parameter subject: what is waited for, as the failure names it.
    /// - Throws: `Timeout` after about `seconds`, and what `condition` throws.
    package static func wait(
        for subject: String, seconds: Int = 60, isolation: isolated (any Actor)? = #isolation,
        until condition: () async throws -> Bool
    ) async throws {
        for _ in 0..<(seconds * 200) {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Timeout(description: "\(subject) did not happen in \(seconds) s")
    }

    /// Repeats `step` while it returns true, such as a write that handles a limited number of rows.
    /// - Parameter subject: what is repeated, as the failure names it.
    /// - Throws: `Timeout` if it still returns true after `times`, and what `step` throws.
    package static func `repeat`(
        _ subject: String, atMost times: Int = 10_000, isolation: isolated (any Actor)? = #isolation,
        while step: () async throws -> Bool
    ) async throws {
        for _ in 0..<times {
            guard try await step() else { return }
        }
        throw Timeout(description: "\(subject) did not end after \(times) times")
    }
}
