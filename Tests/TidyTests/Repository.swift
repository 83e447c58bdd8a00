import Foundation
import PealTesting

/// The files of this repository, as git knows them.
struct Repository {
    struct File: Sendable {
        /// From the root, with slashes.
        let path: String
        let text: String

        var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    }

    let root: URL

    static let here = Repository(
        root: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent())

    /// Swift sources under a folder.
    func swiftFiles(under folder: String) throws -> [File] {
        try paths(under: folder).filter { $0.hasSuffix(".swift") }.map(file)
    }

    func file(_ path: String) throws -> File {
        File(path: path, text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
    }

    func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root.appending(path: path).path) }

    func byteCount(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: root.appending(path: path).path)[.size] as? Int ?? 0
    }

    /// Every file of the project, from the root: what git tracks or would track.
    func paths(under folder: String = "") throws -> [String] {
        let all = gitPaths() ?? enumeratedPaths()
        let prefix = folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/"
        return all.filter { $0.hasPrefix(prefix) && exists($0) }.sorted()
    }

    /// nil where git does not answer, as in an unpacked archive.
    private func gitPaths() -> [String]? {
        let output = FileManager.default.temporaryDirectory.appending(path: "peal-paths-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: output) }
        let status = try? ChildProgram.run(
            "/usr/bin/env",
            ["git", "-C", root.path, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            outputFile: output.path)
        guard status == 0, let bytes = try? Data(contentsOf: output) else { return nil }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private func enumeratedPaths() -> [String] {
        let prefix = root.path.hasSuffix("/") ? root.path : root.path + "/"
        guard let enumerator = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        else { return [] }
        var paths: [String] = []
        for case let url as URL in enumerator {
            if Self.foreignNames.contains(url.lastPathComponent) {
                enumerator.skipDescendants()
            } else if (try? url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true {
                paths.append(String(url.path.dropFirst(prefix.count)))
            }
        }
        return paths
    }

    /// What `.gitignore` keeps out, and git's own folder.
    private static let foreignNames: Set<String> = [
        ".git", ".build", ".swiftpm", ".venv", ".demo", "__pycache__", ".pytest_cache", "Package.resolved",
    ]
}
