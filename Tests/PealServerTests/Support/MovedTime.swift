import Foundation
import PealDevice
import PealTesting
import Synchronization

/// A clock that a test moves, for programs (by the library of `Tests/Clients/moved_clock.c`) and for phones alike.
/// Needs Linux and a C compiler.
final class MovedTime: PhoneClock {
    private let file: URL
    private let library: URL
    private let offset = Mutex<Int64>(0)

    static var isPossible: Bool {
        #if os(Linux)
            FileManager.default.isExecutableFile(atPath: compiler)
        #else
            false
        #endif
    }

    private static let compiler = "/usr/bin/cc"

    init(in folder: URL) async throws {
        file = folder.appendingPathComponent("clock-offset")
        library = folder.appendingPathComponent("moved_clock.so")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write(0)
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Clients/moved_clock.c")
        let build = try ChildProgram(
            Self.compiler, ["-O1", "-shared", "-fPIC", "-o", library.path, source.path])
        guard try await build.waitForExit() == 0 else { throw FixtureFailure("moved_clock.c cannot be compiled") }
    }

    /// For the programs.
    var environment: [String: String] { ["LD_PRELOAD": library.path, "CLOCK_OFFSET_FILE": file.path] }

    /// Of the file with the offset.
    var path: String { file.path }

    func advance(seconds: Int64) throws {
        try offset.withLock { offset in
            offset += seconds
            try write(offset)
        }
    }

    var wall: Int64 { Int64(Date().timeIntervalSince1970 * 1000) + moved }
    var uptime: Int64 { Int64(ProcessInfo.processInfo.systemUptime * 1000) + moved }
    private var moved: Int64 { offset.withLock { $0 * 1000 } }

    /// In place, because the programs have mapped the file.
    private func write(_ seconds: Int64) throws {
        let bytes = withUnsafeBytes(of: seconds) { Data($0) }
        if let handle = try? FileHandle(forWritingTo: file) {
            try handle.write(contentsOf: bytes)
            try handle.close()
        } else {
            try bytes.write(to: file)
        }
    }
}
