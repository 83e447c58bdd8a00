internal import Foundation
internal import Logging
internal import PealCore

/// Writes one JSON object a line to standard error: `at`, `level`, `message`, `source`, and the metadata's members.
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
        var members: [(String, JSON?)] = [
            ("at", .string(SystemTime().now.description)), ("level", .string(event.level.rawValue)),
            ("message", .string(event.message.description)), ("source", .string(label)),
        ]
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { members.append((key, Self.json(value))) }
        var line = JSON.compact(members).bytes
        line.append(UInt8(ascii: "\n"))
        FileHandle.standardError.write(Data(line))
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
