import Foundation
import PealCore
import PealTesting

@testable import PealProviders

/// A self-signed client certificate like Apple's.
struct PushCertificate {
    /// Its content.
    struct Draft {
        /// The subject's UID; nil = none.
        var userID: String? = "com.example.app"
        /// The extension of topics; empty = none.
        var topics: [String] = []
        /// Apple's environment extensions: `6.3.1` is development, `6.3.2` production.
        var marks = ["6.3.1", "6.3.2"]
        var keyArguments = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    }

    let directory: TestDirectory
    let identity: Credential.TLSIdentity

    init(_ draft: Draft = .init()) throws {
        directory = try TestDirectory()
        let topics = draft.topics.enumerated().map {
            "t.\($0 * 2) = UTF8String:\($1)\nt.\($0 * 2 + 1) = SEQWRAP,UTF8String:app"
        }
        let configuration = """
            [req]
            distinguished_name = name
            prompt = no
            x509_extensions = push
            [name]
            CN = Apple Push Services: com.example.app
            \(draft.userID.map { "UID = \($0)" } ?? "")
            [push]
            basicConstraints = CA:true
            \(draft.marks.map { "1.2.840.113635.100.\($0) = DER:0500" }.joined(separator: "\n"))
            \(topics.isEmpty ? "" : "1.2.840.113635.100.6.3.6 = ASN1:SEQUENCE:topics")
            [topics]
            \(topics.joined(separator: "\n"))
            """
        try configuration.write(toFile: directory.file("push.conf"), atomically: true, encoding: .utf8)
        try Self.openSSL(
            ["req", "-x509", "-nodes", "-days", "3650", "-config", directory.file("push.conf")] + draft.keyArguments
                + ["-keyout", directory.file("key.pem"), "-out", directory.file("cert.pem")])
        identity = Credential.TLSIdentity(
            certificates: try String(contentsOfFile: directory.file("cert.pem"), encoding: .utf8),
            privateKey: try String(contentsOfFile: directory.file("key.pem"), encoding: .utf8))
    }

    func credential(_ bundleID: String = "com.example.app") -> Credential.APNsCertificate {
        Credential.APNsCertificate(identity: identity, bundleID: bundleID)
    }

    /// In the format of `openssl pkcs12 -export`.
    func archive(passphrase: String = "secret", _ arguments: [String] = []) throws -> [UInt8] {
        let file = directory.file("identity.p12")
        try Self.openSSL(
            [
                "pkcs12", "-export", "-in", directory.file("cert.pem"), "-inkey", directory.file("key.pem"), "-out",
                file,
                "-passout", "pass:\(passphrase)",
            ] + arguments)
        return Array(try Data(contentsOf: URL(fileURLWithPath: file)))
    }

    static func openSSL(_ arguments: [String]) throws {
        guard try ChildProgram.run("/usr/bin/openssl", arguments) == 0 else {
            throw TestFailure("openssl \(arguments.first ?? "") failed")
        }
    }
}
