internal import Foundation
package import PealCore
internal import PealServer

/// What a command line program has around it: environment, files and the two ways to speak.
package struct Surroundings: Sendable {
    package var environment: [String: String]
    /// Writes one text and a line end to standard output.
    package var print: @Sendable (String) -> Void
    /// Writes one text and a line end to standard error.
    package var warn: @Sendable (String) -> Void
    /// The bytes of a file, or with `-` of standard input; nil when it cannot be read.
    package var read: @Sendable (_ path: String) -> [UInt8]?
    /// What long commands tell their speed by.
    package var time: any TimeSource

    package init(
        environment: [String: String], print: @escaping @Sendable (String) -> Void,
        warn: @escaping @Sendable (String) -> Void, read: @escaping @Sendable (_ path: String) -> [UInt8]?,
        time: (any TimeSource)? = nil
    ) {
        self.environment = environment
        self.print = print
        self.warn = warn
        self.read = read
        self.time = time ?? SystemTime()
    }

    /// Those of the running command.
    @TaskLocal package static var current = Surroundings.process

    /// Those of this process.
    package static let process = Surroundings(
        environment: ProcessInfo.processInfo.environment,
        print: { FileHandle.standardOutput.write(Data(($0 + "\n").utf8)) },
        warn: { FileHandle.standardError.write(Data(($0 + "\n").utf8)) },
        read: { path in
            guard path == "-" else { return FileManager.default.contents(atPath: path).map { Array($0) } }
            guard let data = try? FileHandle.standardInput.readToEnd() else { return [] }
            return Array(data)
        })
}
