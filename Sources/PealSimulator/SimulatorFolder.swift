import Foundation

/// The directory in which a simulator tells its clients where it is, whom to trust and who they are.
struct SimulatorFolder {
    /// The files in it.
    enum File: String {
        case authority = "ca.pem"
        case apnsKey = "apns-key.p8"
        case certificate = "apns-certificate.pem"
        case certificateKey = "apns-certificate-key.pem"
        case p12 = "apns-certificate.p12"
        case serviceAccount = "fcm-service-account.json"
        case description = "simulator.json"

        /// Readable by the owner only.
        var isSecret: Bool {
            switch self {
            case .authority, .certificate, .description: false
            case .apnsKey, .certificateKey, .p12, .serviceAccount: true
            }
        }
    }

    /// It keeps nothing secret: everybody who can read the file can read this too.
    static let p12Passphrase = "peal-simulator"

    private let url: URL

    /// Makes the directory `path` when it is missing, and takes away the `simulator.json` of an earlier run.
    init(_ path: String) throws {
        url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            for file in [File.description, .p12] {
                try? FileManager.default.removeItem(at: url.appendingPathComponent(file.rawValue))
            }
        } catch {
            throw SimulatorError("directory: cannot make \(path): \(error.localizedDescription)")
        }
    }

    /// The absolute path of `file`.
    func path(_ file: File) -> String { url.appendingPathComponent(file.rawValue).path }

    /// Writes `text` to `file` in one step.
    func write(_ text: String, to file: File) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(file)), options: .atomic)
        if file.isSecret { try protect(file) }
    }

    private func protect(_ file: File) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(file))
    }

    /// Puts certificate and key, which are written already, into one file of PKCS#12. Says whether it could: it takes
    /// the `openssl` program.
    func writeP12() async -> Bool {
        let arguments = [
            "openssl", "pkcs12", "-export", "-in", path(.certificate), "-inkey", path(.certificateKey), "-out",
            path(.p12), "-passout", "pass:\(Self.p12Passphrase)", "-name", "Apple Push Services",
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
        return status == 0 && (try? protect(.p12)) != nil
    }
}
