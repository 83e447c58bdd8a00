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
        let own = event.metadata ?? [:]
        log.write(
            LogEntry(
                at: SystemTime().now, level: event.level, message: event.message.description, source: label,
                metadata: metadata.isEmpty ? own : metadata.merging(own) { $1 }))
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
    /// prefix, such as `metadata.message`; numbers are those that were given as `.stringConvertible`. Every request
    /// writes an entry, so it is written without a `JSON` in between.
    var json: String {
        let own = [("at", at.description), ("level", level.rawValue), ("message", message), ("source", source)]
        var line: [UInt8] = []
        line.reserveCapacity(512)
        func add(_ name: String, _ value: Logger.Metadata.Value) {
            line.append(UInt8(ascii: line.isEmpty ? "{" : ","))
            JSON.write(name, to: &line)
            line.append(UInt8(ascii: ":"))
            if case .string(let text) = value { JSON.write(text, to: &line) } else { Self.json(value).write(to: &line) }
        }
        for (name, text) in own { add(name, .string(text)) }
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            add(own.contains { $0.0 == key } ? "metadata.\(key)" : key, value)
        }
        line.append(UInt8(ascii: "}"))
        return String(decoding: line, as: UTF8.self)
    }

    private static func json(_ value: Logger.Metadata.Value) -> JSON {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let value as any BinaryInteger): .integer(value)
        case .stringConvertible(let value as Double) where value.isFinite: .number(value.description)
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
        /// The lines that wait, each with its line end.
        var lines: [UInt8] = []
        var dropped = 0
        var isWriting = false
    }

    static let standardError = LogOutput { try? StandardStream.error.write($0) }

    /// How long lines wait after others were written: waking a thread for each of many lines costs more than they do.
    private static let pause = DispatchTimeInterval.milliseconds(10)

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
            guard state.lines.count + line.utf8.count <= bytesMax else {
                state.dropped += 1
                return false
            }
            state.lines.append(contentsOf: line.utf8)
            state.lines.append(UInt8(ascii: "\n"))
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if starts { queue.async { self.drain() } }
    }

    /// Waits until everything is written, at most for `seconds`.
    func flush(seconds: Double = 1) {
        let done = DispatchSemaphore(value: 0)
        queue.async {
            self.writeWaiting()
            done.signal()
        }
        _ = done.wait(timeout: .now() + seconds)
    }

    /// Writes what waits, again and again until nothing does.
    private func drain() {
        if writeWaiting() { queue.asyncAfter(deadline: .now() + Self.pause) { self.drain() } }
    }

    /// - Returns: false if nothing was waiting; then the next line starts the drain again.
    @discardableResult
    private func writeWaiting() -> Bool {
        let (lines, dropped) = state.withLock { state in
            let taken = (state.lines, state.dropped)
            (state.lines, state.dropped) = ([], 0)
            if taken.0.isEmpty, taken.1 == 0 { state.isWriting = false }
            return taken
        }
        guard !lines.isEmpty || dropped > 0 else { return false }
        let note = "\(dropped) log entries were dropped because the reader of the log was too slow\n"
        sink(String(decoding: lines, as: UTF8.self) + (dropped > 0 ? note : ""))
        return true
    }
}
