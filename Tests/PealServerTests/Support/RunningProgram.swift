import Foundation
import Synchronization

/// A program of this package, running as its own process. Only what a test started is ever stopped.
final class RunningProgram: Sendable {
    private let process: Mutex<Process>
    let processID: Int32

    /// Starts `.build/debug/NAME` (the folder that this test itself was built into).
    init(_ name: String, arguments: [String], environment: [String: String] = [:], log: URL? = nil) throws {
        let process = Process()
        process.executableURL = Self.folder.appendingPathComponent(name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PEAL_") }
            .merging(environment) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try log.map(Self.open) ?? FileHandle.nullDevice
        try process.run()
        processID = process.processIdentifier
        self.process = Mutex(process)
    }

    deinit { if isRunning { Foundation.kill(processID, SIGKILL) } }

    var isRunning: Bool { process.withLock { $0.isRunning } }

    /// As `kill -9`: nothing is flushed, nothing is told.
    func kill() {
        Foundation.kill(processID, SIGKILL)
        process.withLock { $0.waitUntilExit() }
    }

    /// Asks politely and waits. Returns the exit code.
    @discardableResult
    func stop() -> Int32 {
        Foundation.kill(processID, SIGTERM)
        return process.withLock {
            $0.waitUntilExit()
            return $0.terminationStatus
        }
    }

    /// A figure of `/proc/PID/status` in megabytes, as `VmHWM`, the most memory that was ever resident.
    func memoryMegabytes(_ name: String) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }

    private static var folder: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(".build/debug")
    }

    private static func open(_ file: URL) throws -> FileHandle {
        FileManager.default.createFile(atPath: file.path, contents: nil)
        return try FileHandle(forWritingTo: file)
    }
}
