internal import ArgumentParser
internal import PealCore

/// The secrets of a credential. They come from files, never from the command line, which others can read; `-` is
/// standard input.
struct CredentialFiles: ParsableArguments {
    @Option(help: "APNs: the signing key (.p8); certificates: their key in PEM; Web Push: the key in base64url.")
    var privateKeyFile: String?

    @Option(help: "APNs, MPNS: the certificate chain in PEM.")
    var certificateFile: String?

    @Option(name: .customLong("p12-file"), help: "APNs: certificate and key in a PKCS#12 archive (.p12).")
    var archiveFile: String?

    @Option(help: "APNs: the archive's passphrase.")
    var passphraseFile: String?

    @Option(help: "FCM: Google's JSON file of a service account.")
    var serviceAccountFile: String?

    @Option(help: "WNS: the client's secret.")
    var clientSecretFile: String?

    /// What APNs' credentials are told apart by; nil where no file says it.
    var kind: String? {
        if archiveFile != nil { return "p12" }
        if certificateFile != nil { return "certificate" }
        return privateKeyFile == nil ? nil : "token"
    }

    /// - Throws: `CommandFailure.usage` for a file that cannot be read or holds something else.
    func members() throws(CommandFailure) -> [(String, JSON?)] {
        [
            ("certificate", .text(try text(certificateFile))), ("private_key", .text(try text(privateKeyFile))),
            ("data", .text(try archive())), ("passphrase", .text(try line(passphraseFile))),
            ("service_account", try serviceAccountFile.map(BodyOptions.document)),
            ("client_secret", .text(try line(clientSecretFile))),
        ]
    }

    private func text(_ file: String?) throws(CommandFailure) -> String? {
        guard let file else { return nil }
        guard let text = String(validating: try BodyOptions.bytes(file), as: UTF8.self) else {
            throw .usage("\(file) holds no text")
        }
        return text
    }

    /// A text without the line's end that editors put there.
    private func line(_ file: String?) throws(CommandFailure) -> String? {
        guard var line = try text(file) else { return nil }
        while line.last?.isNewline == true { line.removeLast() }
        return line
    }

    private func archive() throws(CommandFailure) -> String? {
        guard let archiveFile else { return nil }
        return Base64URL.encode(try BodyOptions.bytes(archiveFile))
    }
}
