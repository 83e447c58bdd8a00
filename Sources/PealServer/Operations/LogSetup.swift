internal import Logging

/// Decides once per process where the log goes and in which form.
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
