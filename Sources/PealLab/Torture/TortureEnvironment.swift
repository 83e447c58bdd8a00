import Foundation

/// A separate file system for the database that can be filled: a small tmpfs or, if none may be mounted, a limit on the
/// size of files.
struct FullDisk: Sendable {
    enum Means: Sendable, Hashable {
        case tmpfs
        /// `prlimit` on the running server, which ignores SIGXFSZ.
        case fileSizeLimit
    }

    private static let bytes = 192 << 20
    private static let shell = "/bin/sh"

    let folder: String
    let means: Means

    /// - Returns: nil when neither is permitted here.
    static func make(_ folder: String) async -> FullDisk? {
        guard FileManager.default.fileExists(atPath: "/proc/self/mounts") else { return nil }
        let options = ["-t", "tmpfs", "-o", "size=\(bytes),mode=700", "peal-torture", folder]
        if await TortureProgram.run("/bin/mount", options) == 0 { return FullDisk(folder: folder, means: .tmpfs) }
        let hasLimit = ["/usr/bin/prlimit", shell].allSatisfy(FileManager.default.isExecutableFile)
        return hasLimit ? FullDisk(folder: folder, means: .fileSizeLimit) : nil
    }

    func remove() async {
        if means == .tmpfs { _ = await TortureProgram.run("/bin/umount", ["-l", folder]) }
    }

    private var ballast: String { "\(folder)/ballast" }

    /// From now on, files cannot grow, as on a full disk.
    func fill(for servers: [TortureProgram]) async {
        switch means {
        case .tmpfs:
            _ = FileManager.default.createFile(atPath: ballast, contents: nil)
            guard let file = FileHandle(forWritingAtPath: ballast) else { return }
            for size in [1 << 20, 4096] {
                let block = Data(count: size)
                while (try? file.write(contentsOf: block)) != nil {}
            }
            try? file.close()
        case .fileSizeLimit: await limit(servers, to: "1:")
        }
    }

    func free(for servers: [TortureProgram]) async {
        switch means {
        case .tmpfs: try? FileManager.default.removeItem(atPath: ballast)
        case .fileSizeLimit: await limit(servers, to: "unlimited:")
        }
    }

    private func limit(_ servers: [TortureProgram], to size: String) async {
        for server in servers {
            _ = await TortureProgram.run("/usr/bin/prlimit", ["--pid", "\(server.processID)", "--fsize=\(size)"])
        }
    }

    /// The command line of a server whose files may be limited.
    func command(_ path: String, _ arguments: [String]) -> (path: String, arguments: [String]) {
        guard means == .fileSizeLimit else { return (path, arguments) }
        return (Self.shell, ["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", path] + arguments)
    }
}

/// The clocks of the servers, one for each, which jump: `Tests/Clients/moved_clock.c`, preloaded.
struct TortureClock: Sendable {
    private let folder: String
    private let library: String

    /// - Returns: nil without the source of the library or a C compiler.
    static func make(_ folder: String, nodes: Int) async -> TortureClock? {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let source = root.appendingPathComponent("Tests/Clients/moved_clock.c").path
        let library = "\(folder)/moved_clock.so"
        guard FileManager.default.fileExists(atPath: source) else { return nil }
        let arguments = ["-O1", "-shared", "-fPIC", "-o", library, source]
        guard await TortureProgram.run("/usr/bin/cc", arguments) == 0 else { return nil }
        let clock = TortureClock(folder: folder, library: library)
        for node in 0..<nodes {
            _ = FileManager.default.createFile(atPath: clock.file(node), contents: nil)
            clock.set(0, of: node)
        }
        return clock
    }

    func environment(of node: Int) -> [String: String] {
        ["LD_PRELOAD": library, "CLOCK_OFFSET_FILE": file(node)]
    }

    /// Sets how many seconds a server is ahead. In place, because it has mapped the file.
    func set(_ seconds: Int, of node: Int) {
        guard let handle = FileHandle(forUpdatingAtPath: file(node)) else { return }
        handle.write(withUnsafeBytes(of: Int64(seconds)) { Data($0) })
        try? handle.close()
    }

    private func file(_ node: Int) -> String { "\(folder)/clock-offset-\(node)" }
}
