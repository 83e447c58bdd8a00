import Foundation
import PealTesting

/// A temporary directory, which is deleted with this object.
final class TestDirectory: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "peal-providers-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    /// Contains `cert.pem` and `key.pem` for localhost and 127.0.0.1; the certificate is self-signed.
    static func certificates(names: String = "DNS:localhost,IP:127.0.0.1") throws -> TestDirectory {
        let directory = try TestDirectory()
        let status = try ChildProgram.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=\(names)",
                "-keyout", directory.file("key.pem"), "-out", directory.file("cert.pem"),
            ])
        guard status == 0 else { throw TestFailure("openssl failed") }
        return directory
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
