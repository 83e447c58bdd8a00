internal import Foundation
package import PealCore
internal import PealServer

/// What a command reads and writes: environment, files, standard output and standard error.
package struct Surroundings: Sendable {
    package var environment: [String: String]
    /// Writes a line to standard output.
    package var print: @Sendable (String) -> Void
    /// Writes a line to standard error.
    package var warn: @Sendable (String) -> Void
    /// Reads a file, or standard input for `-`; nil when it cannot be read.
    package var read: @Sendable (_ path: String) -> [UInt8]?
    /// Times long commands.
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

    /// The surroundings of the running command.
    @TaskLocal package static var current = Surroundings.process

    /// The surroundings of this process.
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
