internal import Foundation
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A child process that a test starts. It is killed when this object is deinitialized. `Foundation.Process` is not used
/// because its `waitUntilExit` spins on the calling thread, one of the few that run all tests.
package final class ChildProgram: Sendable {
    package let processID: Int32
    /// Set once the child was reaped.
    private let exitStatus = Mutex<Int32?>(nil)

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Parameters:
    ///   - path: of the executable.
    ///   - environment: replaces the test's own, if given.
    ///   - outputFile, errorFile: for standard output and standard error, which are otherwise discarded.
    package init(
        _ path: String, _ arguments: [String], environment: [String: String]? = nil, outputFile: String? = nil,
        errorFile: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (descriptor, file) in [(Int32(1), outputFile), (2, errorFile)] {
            posix_spawn_file_actions_addopen(
                &actions, descriptor, file ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        Self.closeInherited(&actions)
        // A test's thread blocks every signal, and a child inherits that: without this, SIGTERM would not reach it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        posix_spawnattr_setsigmask(&attributes, &unblocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" }
        var child = pid_t()
        let result = Self.withCStrings([path] + arguments) { argv in
            Self.withCStrings(variables) { envp in posix_spawn(&child, path, &actions, &attributes, argv, envp) }
        }
        guard result == 0 else { throw Failure(description: "\(path): \(String(cString: strerror(result)))") }
        processID = child
    }

    /// Makes the child close every descriptor from 3 on. SwiftNIO's sockets are not close-on-exec: without this, a
    /// child would keep the sockets of other tests open, and even listen on their ports.
    private static func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
        typealias AddCloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        // glibc 2.34 and later has it; Swift's module of the C library does not show it.
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
        _ = unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, 3)
    }

    deinit {
        guard isRunning else { return }
        Self.send(SIGKILL, to: processID)
        _ = reap(options: 0)
    }

    package var isRunning: Bool { exitCode == nil }

    /// nil while it runs; 128 + the signal's number when a signal ended it.
    package var exitCode: Int32? { reap(options: WNOHANG) }

    package func send(_ signal: Int32) {
        if isRunning { Self.send(signal, to: processID) }
    }

    /// Waits without blocking a thread.
    @discardableResult
    package func waitForExit(seconds: Int = 120) async throws -> Int32 {
        for _ in 0..<(seconds * 100) {
            if let exitCode { return exitCode }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Failure(description: "process \(processID) did not end in \(seconds) s")
    }

    /// Runs a short program to its end.
    package static func run(_ path: String, _ arguments: [String], outputFile: String? = nil) throws -> Int32 {
        try ChildProgram(path, arguments, outputFile: outputFile).reap(options: 0) ?? -1
    }

    private func reap(options: Int32) -> Int32? {
        exitStatus.withLock { known in
            if let known { return known }
            var status: Int32 = 0
            guard waitpid(processID, &status, options) == processID else { return nil }
            let signal = status & 0x7F
            known = signal == 0 ? status >> 8 & 0xFF : 128 + signal
            return known
        }
    }

    private static func send(_ signal: Int32, to process: Int32) { _ = kill(process, signal) }

    private static func withCStrings<R>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { body($0.baseAddress.unsafelyUnwrapped) }
    }
}

/// The location of the programs of this test's build.
package enum BuiltPrograms {
    /// `.build/debug`, or `.build/release` for optimized tests.
    package static var folder: String {
        #if DEBUG
            let configuration = "debug"
        #else
            let configuration = "release"
        #endif
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/\(configuration)").path
    }
}
