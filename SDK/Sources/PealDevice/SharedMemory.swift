internal import Foundation

/// Shared state of a simulated device, which ends with its process.
///
/// `@unchecked Sendable`: `value` is accessed only under `lock`. `Mutex` needs iOS 18.
package final class SharedMemory<Value: Sendable>: SharedState, @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func read() throws -> Value { lock.withLock { value } }

    package func update<Result>(_ change: (inout Value) throws -> Result) throws -> Result {
        try lock.withLock {
            var changed = value
            let result = try change(&changed)
            value = changed
            return result
        }
    }
}
