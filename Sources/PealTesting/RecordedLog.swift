package import Logging
internal import Synchronization

/// A log that a test reads: a logger whose entries stay in memory.
package final class RecordedLog: Sendable {
    package struct Entry: Sendable {
        package let level: Logger.Level
        package let message: String
        package let metadata: Logger.Metadata
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let entry = Entry(
                level: event.level, message: event.message.description,
                metadata: metadata.merging(event.metadata ?? [:]) { $1 })
            log.entries.withLock { $0.append(entry) }
        }
    }

    private let entries = Mutex<[Entry]>([])

    package init() {}

    /// A logger that records entries at `level` and above.
    package func logger(_ level: Logger.Level = .error) -> Logger {
        Logger(label: "test") { _ in Handler(log: self, logLevel: level) }
    }

    /// Returns the entries since the last call.
    package func take() -> [Entry] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }
}
