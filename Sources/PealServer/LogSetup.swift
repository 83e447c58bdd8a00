internal import Dispatch
internal import Foundation
internal import Logging
internal import PealCore
internal import Synchronization

/// The log of the process: its level, which may change at run time, and its destination.
final class ServerLog: Sendable {
    private let current: Mutex<Logger.Level>
    private let format: ServerConfiguration.Log.Format
    private let output: LogOutput

    init(_ configuration: ServerConfiguration, output: LogOutput = .standardError) {
        current = Mutex(Logger.Level(rawValue: configuration.log.level) ?? .info)
        format = configuration.log.format
        self.output = output
    }

    var level: Logger.Level {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    var logger: Logger {
        Logger(label: "peal") { label in ServerLogHandler(label: label, log: self) }
    }

    fileprivate func write(_ entry: LogEntry) {
        output.write(format == .json ? entry.json : entry.text)
    }
}

/// Receives the entries of one logger.
struct ServerLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    let label: String
    let log: ServerLog
    /// Set for one logger only.
    private var ownLevel: Logger.Level?

    init(label: String, log: ServerLog) {
        self.label = label
        self.log = log
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? log.level }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        log.write(
            LogEntry(
                at: SystemTime().now, level: event.level, message: event.message.description, source: label,
                metadata: metadata.merging(event.metadata ?? [:]) { $1 }))
    }
}

/// One entry of the log.
struct LogEntry {
    let at: Timestamp
    let level: Logger.Level
    let message: String
    let source: String
    let metadata: Logger.Metadata

    /// An object with `at`, `level`, `message`, `source` and the metadata. Metadata with one of these names gets a
    /// prefix, such as `metadata.message`.
    var json: String {
        var members = JSON.Members([
            ("at", .string(at.description)), ("level", .string(level.rawValue)), ("message", .string(message)),
            ("source", .string(source)),
        ])
        let own = Set(members.names)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            members[own.contains(key) ? "metadata.\(key)" : key] = Self.json(value)
        }
        return JSON.object(members).text
    }

    private static func json(_ value: Logger.Metadata.Value) -> JSON {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let value): .string(value.description)
        case .array(let values): .array(values.map(json))
        case .dictionary(let members):
            .object(JSON.Members(members.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) }))
        }
    }

    /// The text format: time, level, message, and the metadata as `name=value`.
    var text: String {
        let level = level.rawValue.uppercased()
        let padded = level + String(repeating: " ", count: max(0, 8 - level.count))
        let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.quoted(Self.json($0.value)))" }
        return "\(at) \(padded) \(message.onOneLine)\(details.joined())"
    }

    private static func quoted(_ value: JSON) -> String {
        let text = value.stringValue ?? value.text
        let isPlain = !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\"" && $0 != "=" }
        return isPlain ? text.onOneLine : text.quotedOnOneLine
    }
}

/// Writes lines on its own thread, so that a stalled reader of the log does not stop the server. Beyond a limit it
/// drops lines and logs how many.
final class LogOutput: Sendable {
    private struct State {
        var lines: [String] = []
        var bytes = 0
        var dropped = 0
        var isWriting = false
    }

    static let standardError = LogOutput { try? StandardStream.error.write($0) }

    private let bytesMax: Int
    private let queue = DispatchQueue(label: "peal.log")
    private let sink: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameter sink: receives whole lines, one call at a time.
    init(bytesMax: Int = 4 * 1024 * 1024, sink: @escaping @Sendable (String) -> Void) {
        self.bytesMax = bytesMax
        self.sink = sink
    }

    func write(_ line: String) {
        let starts = state.withLock { state in
            guard state.bytes + line.utf8.count <= bytesMax else {
                state.dropped += 1
                return false
            }
            state.lines.append(line)
            state.bytes += line.utf8.count
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if starts { queue.async { self.drain() } }
    }

    /// Waits until everything is written, at most for `seconds`.
    func flush(seconds: Double = 1) {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + seconds)
    }

    private func drain() {
        while true {
            let (lines, dropped) = state.withLock { state in
                let taken = (state.lines, state.dropped)
                (state.lines, state.bytes, state.dropped) = ([], 0, 0)
                if taken.0.isEmpty, taken.1 == 0 { state.isWriting = false }
                return taken
            }
            guard !lines.isEmpty || dropped > 0 else { return }
            let note =
                dropped > 0 ? ["\(dropped) log entries were dropped because the reader of the log was too slow"] : []
            sink((lines + note).joined(separator: "\n") + "\n")
        }
    }
}
