import Foundation

/// The directory where a simulator writes its addresses, its certificate authority and the credentials of its clients.
struct SimulatorFolder {
    /// A file in it. Each network declares its own.
    struct File {
        let name: String
        /// Readable by the owner only.
        var isSecret = false

        static let authority = File(name: "ca.pem")
        static let authorityKey = File(name: "ca-key.pem", isSecret: true)
        static let description = File(name: "simulator.json")
    }

    /// It protects nothing: anyone who can read the file can read this in `simulator.json`.
    static let p12Passphrase = "peal-simulator"

    private let url: URL

    /// Creates the directory `path` unless it exists, and deletes the `simulator.json` of an earlier run.
    init(_ path: String) throws {
        url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try? FileManager.default.removeItem(at: url.appendingPathComponent(File.description.name))
        } catch {
            throw SimulatorError("directory: cannot create \(path): \(error.localizedDescription)")
        }
    }

    /// The text of `file` in the directory `path`, from an earlier run; nil when there is none.
    static func kept(_ file: File, in path: String) -> String? {
        try? String(contentsOf: URL(fileURLWithPath: path).appendingPathComponent(file.name), encoding: .utf8)
    }

    /// The absolute path of `file`.
    func path(_ file: File) -> String { url.appendingPathComponent(file.name).path }

    /// Writes `text` to `file` atomically.
    func write(_ text: String, to file: File) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(file)), options: .atomic)
        if file.isSecret { try protect(file) }
    }

    private func protect(_ file: File) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(file))
    }

    /// Writes a certificate and its key to the PKCS#12 file `file`. Returns whether this succeeded: it needs the
    /// `openssl` program.
    func writeP12(_ file: File, certificate: File, key: File) async -> Bool {
        try? FileManager.default.removeItem(atPath: path(file))
        let arguments = [
            "openssl", "pkcs12", "-export", "-in", path(certificate), "-inkey", path(key), "-out", path(file),
            "-passout", "pass:\(Self.p12Passphrase)", "-name", "Apple Push Services",
        ]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let status = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(returning: -1)
            }
        }
        return status == 0 && (try? protect(file)) != nil
    }
}

/// What a client needs to know about a running simulator: the content of `simulator.json`.
package struct SimulatorDescription: Sendable {
    private let host: String
    private let listeners: [(name: ListenerName, port: Int)]
    private let mode: SimulatorMode
    /// Where the files of the networks are.
    let folder: SimulatorFolder
    /// The objects of the networks.
    private var networks: [(String, String)] = []

    init(host: String, listeners: [(name: ListenerName, port: Int)], mode: SimulatorMode, folder: SimulatorFolder) {
        self.host = host.contains(":") ? "[\(host)]" : host == "0.0.0.0" ? "127.0.0.1" : host
        self.listeners = listeners
        self.mode = mode
        self.folder = folder
    }

    /// The TCP port of a listener; 0 when there is no such listener.
    package func port(_ name: ListenerName) -> Int { listeners.first { $0.name == name }?.port ?? 0 }

    /// `https://HOST:PORT` of a listener, or `http://HOST:PORT` of one without TLS.
    package func url(_ name: ListenerName) -> String { "\(name.scheme)://\(host):\(port(name))" }

    /// Adds the object `name` of a network.
    mutating func add(_ name: String, _ members: [(String, String)]) {
        networks.append((name, JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) })))
    }

    /// The text of `simulator.json`.
    package var json: String {
        let members =
            listeners.map { ($0.name.member, url($0.name)) }
            + [("ca_file", folder.path(.authority)), ("mode", mode.rawValue)]
        return JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) } + networks) + "\n"
    }
}
