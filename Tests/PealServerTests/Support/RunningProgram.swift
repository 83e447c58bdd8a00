import Foundation
import PealTesting

/// A program of this package in a separate process.
final class RunningProgram: Sendable {
    private let child: ChildProgram

    /// Starts `NAME` from the directory of this test's own build.
    init(_ name: String, arguments: [String], environment: [String: String] = [:], log: URL? = nil) throws {
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PEAL_") }
        child = try ChildProgram(
            Self.folder.appendingPathComponent(name).path, arguments,
            environment: inherited.merging(environment) { $1 }, errorFile: log?.path)
    }

    var isRunning: Bool { child.isRunning }

    /// Kills it with SIGKILL.
    func kill() async throws {
        child.send(SIGKILL)
        try await child.waitForExit()
    }

    /// Stops it with SIGTERM and waits. Returns the exit code.
    @discardableResult
    func stop() async throws -> Int32 {
        child.send(SIGTERM)
        return try await child.waitForExit()
    }

    /// Waits until it exits. Returns the exit code.
    func end() async throws -> Int32 { try await child.waitForExit() }

    /// A value of `/proc/PID/status` in megabytes, such as `VmHWM`, the peak of resident memory.
    func memoryMegabytes(_ name: String) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(child.processID)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }

    private static var folder: URL { URL(fileURLWithPath: BuiltPrograms.folder) }
}
