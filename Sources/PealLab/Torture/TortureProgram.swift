import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Why a run cannot continue, in one line.
package struct TortureFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// A child process that can be stopped, continued and killed.
final class TortureProgram: Sendable {
    private let process: Process

    /// - Parameter log: both outputs are appended to it.
    init(_ path: String, _ arguments: [String], environment: [String: String], log: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PEAL_") }
        process.environment = inherited.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let output = try TortureProgram.appending(to: log)
        process.standardOutput = output
        process.standardError = output
        do { try process.run() } catch { throw TortureFailure("\(path) cannot be started: \(error)") }
        self.process = process
    }

    private static func appending(to path: String) throws -> FileHandle {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        guard let file = FileHandle(forWritingAtPath: path) else { throw TortureFailure("\(path) is not writable") }
        file.seekToEndOfFile()
        return file
    }

    var processID: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    func send(_ signal: Int32) {
        if process.isRunning { _ = kill(process.processIdentifier, signal) }
    }

    /// Kills it, even if it is stopped, and waits for its end.
    func end() async {
        send(SIGKILL)
        send(SIGCONT)
        while process.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
    }

    /// Runs a short program. Returns its exit code, 127 when there is no such program.
    static func run(_ path: String, _ arguments: [String]) async -> Int32 {
        guard let program = try? TortureProgram(path, arguments, environment: [:], log: "/dev/null") else { return 127 }
        while program.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
        return program.process.terminationStatus
    }
}
