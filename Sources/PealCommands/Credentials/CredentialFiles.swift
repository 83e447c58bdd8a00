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
            ("certificate", .text(try text(certificateFile))), ("private_key", .text(try privateKey())),
            ("data", .text(try archive())), ("passphrase", .text(try text(passphraseFile).map(Self.line))),
            ("service_account", try serviceAccountFile.map(BodyOptions.document)),
            ("client_secret", .text(try text(clientSecretFile).map(Self.line))),
        ]
    }

    private func text(_ file: String?) throws(CommandFailure) -> String? {
        guard let file else { return nil }
        guard let text = String(validating: try BodyOptions.bytes(file), as: UTF8.self) else {
            throw .usage("\(file) holds no text")
        }
        return text
    }

    /// PEM as it is; what is one line goes without its end.
    private func privateKey() throws(CommandFailure) -> String? {
        guard let text = try text(privateKeyFile) else { return nil }
        return text.hasPrefix("-----") ? text : Self.line(text)
    }

    /// The text without the line's end that editors put there.
    private static func line(_ text: String) -> String {
        var line = text
        while line.last?.isNewline == true { line.removeLast() }
        return line
    }

    private func archive() throws(CommandFailure) -> String? {
        guard let archiveFile else { return nil }
        return Base64URL.encode(try BodyOptions.bytes(archiveFile))
    }
}
