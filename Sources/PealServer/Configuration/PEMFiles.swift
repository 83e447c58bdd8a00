internal import Foundation
internal import NIOSSL
internal import PealCore

/// Reads the PEM files that the configuration names. All failures name the key and the file.
enum PEMFiles {
    /// - Throws: `ConfigurationFailure` for a file that cannot be read or has no certificate.
    static func certificates(_ file: String, _ key: ConfigurationKey) throws -> [NIOSSLCertificate] {
        try check(file, key)
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
            throw ConfigurationFailure(key, "\(file) contains no PEM certificates")
        }
        return certificates
    }

    /// - Throws: `ConfigurationFailure` for a file that cannot be read or has no key.
    static func privateKey(_ file: String, _ key: ConfigurationKey) throws -> NIOSSLPrivateKey {
        try check(file, key)
        do {
            return try NIOSSLPrivateKey(file: file, format: .pem)
        } catch {
            throw ConfigurationFailure(key, "\(file) contains no PEM private key, or one with a passphrase")
        }
    }

    private static func check(_ file: String, _ key: ConfigurationKey) throws {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory) else {
            throw ConfigurationFailure(key, "\(file) does not exist")
        }
        guard !isDirectory.boolValue else { throw ConfigurationFailure(key, "\(file) is a directory") }
        guard FileManager.default.isReadableFile(atPath: file) else {
            throw ConfigurationFailure(key, "\(file) cannot be read by this user")
        }
    }
}

extension ServerConfiguration.TLSFiles {
    /// - Throws: `ConfigurationFailure`, including for a key that does not belong to the certificate.
    func load() throws -> (chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
        let chain = try PEMFiles.certificates(certificate, certificateName)
        let key = try PEMFiles.privateKey(key, keyName)
        do {
            _ = try NIOSSLContext(configuration: Self.serverConfiguration(chain, key))
        } catch {
            throw ConfigurationFailure(keyName, "\(self.key) is not the key of \(certificate)")
        }
        return (chain, key)
    }

    /// - Parameter clientCA: the roots of the certificates that clients must present.
    /// - Throws: `ConfigurationFailure`.
    func configuration(clientCA: String?) throws -> TLSConfiguration {
        let (chain, key) = try load()
        var tls = Self.serverConfiguration(chain, key)
        if let clientCA {
            tls.trustRoots = .certificates(try PEMFiles.certificates(clientCA, .adminListenClientCA))
            tls.certificateVerification = .noHostnameVerification
        }
        return tls
    }

    private static func serverConfiguration(
        _ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey
    ) -> TLSConfiguration {
        .makeServerConfiguration(certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    }
}

/// The time in which clients accept a listener's certificate.
struct CertificateLife {
    let begin: Timestamp
    let end: Timestamp

    /// What is wrong with the certificate, and whether clients already refuse it; nil if it does not expire soon.
    func problem(at now: Timestamp) -> (isRefused: Bool, text: String)? {
        if end <= now { return (true, "has expired (\(end)); renew it, and reload the server") }
        if begin > now { return (true, "is not valid before \(begin); check this machine's clock") }
        let isNear = end < now + .seconds(86_400 * (Limits.expiryWarningDays.max() ?? 0))
        return isNear ? (false, "expires \(end)") : nil
    }
}

extension CertificateLife {
    /// nil if the chain has no certificate.
    init?(_ chain: [NIOSSLCertificate]) {
        guard let certificate = chain.first else { return nil }
        self.init(
            begin: Timestamp(seconds: Int64(certificate.notValidBefore)),
            end: Timestamp(seconds: Int64(certificate.notValidAfter)))
    }
}

extension ServerConfiguration {
    /// A line for each certificate of a listener that clients refuse or soon will.
    func certificateWarnings(at now: Timestamp) -> [String] {
        [http.tls, adminListener?.tls].compactMap(\.self).compactMap { files in
            let life = (try? files.load()).flatMap { CertificateLife($0.chain) }
            return life?.problem(at: now).map { "the certificate \(files.certificate) \($0.text)" }
        }
    }

    /// Checks the files that are read again by a reload, so that it changes all or nothing.
    /// - Throws: `ConfigurationFailure`.
    func checkFiles() throws {
        if let caFile { _ = try PEMFiles.certificates(caFile, .caFile) }
        _ = try http.tls?.configuration(clientCA: nil)
        _ = try adminListener?.tls?.configuration(clientCA: adminListener?.clientCA)
    }
}
