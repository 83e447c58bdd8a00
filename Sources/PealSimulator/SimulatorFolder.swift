import Foundation

/// The directory in which a simulator tells its clients where it is and whom to trust.
struct SimulatorFolder {
    private let url: URL

    /// Makes the directory `path` when it is missing, and takes away the `simulator.json` of an earlier run.
    init(_ path: String) throws {
        url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try? FileManager.default.removeItem(at: url.appendingPathComponent("simulator.json"))
        } catch {
            throw SimulatorError("directory: cannot make \(path): \(error.localizedDescription)")
        }
    }

    /// Absolute paths of what is written.
    var authorityFile: String { url.appendingPathComponent("ca.pem").path }
    var keyFile: String { url.appendingPathComponent("apns-key.p8").path }

    /// Writes certificate and key (readable by the owner only), and then, in one step, `simulator.json`.
    func write(authority: String, key: String, _ description: SimulatorDescription) throws {
        try Data((authority + "\n").utf8).write(to: URL(fileURLWithPath: authorityFile), options: .atomic)
        try Data((key + "\n").utf8).write(to: URL(fileURLWithPath: keyFile), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyFile)
        try Data(description.json.utf8).write(to: url.appendingPathComponent("simulator.json"), options: .atomic)
    }
}
