internal import Foundation
internal import Logging
internal import PealCore

/// Creates the logger of the process.
enum LogSetup {
    static func logger(_ configuration: ServerConfiguration) -> Logger {
        let level = Logger.Level(rawValue: configuration.logLevel) ?? .info
        return Logger(label: "peal") { label in
            switch configuration.logFormat {
            case .json: return JSONLogHandler(label: label, logLevel: level)
            case .text:
                var handler = StreamLogHandler.standardError(label: label)
                handler.logLevel = level
                return handler
            }
        }
    }
}

/// Writes one JSON object per line to standard error: `at`, `level`, `message`, `source` and the metadata. Metadata
/// with one of these names gets a prefix, such as `metadata.message`.
struct JSONLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let label: String

    init(label: String, logLevel: Logger.Level) {
        self.label = label
        self.logLevel = logLevel
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        var line = entry(event.message.description, event.level, metadata: all, at: SystemTime().now).bytes
        line.append(UInt8(ascii: "\n"))
        FileHandle.standardError.write(Data(line))
    }

    func entry(_ message: String, _ level: Logger.Level, metadata: Logger.Metadata, at now: Timestamp) -> JSON {
        var members = JSON.Members([
            ("at", .string(now.description)), ("level", .string(level.rawValue)), ("message", .string(message)),
            ("source", .string(label)),
        ])
        let own = Set(members.names)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            members[own.contains(key) ? "metadata.\(key)" : key] = Self.json(value)
        }
        return .object(members)
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
}
