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
}
