internal import Foundation
internal import NIOSSL
internal import PealCore

extension Doctor {
    /// The files that the configuration names.
    func checkFiles(_ diagnosis: inout Diagnosis) {
        if let files = configuration.httpTLS { diagnosis.add(certificates: files, now: time.now) }
        guard let file = configuration.caFile else { return }
        do {
            let roots = try NIOSSLCertificate.fromPEMFile(file)
            diagnosis.add(.ok, "trust roots", "\(file) holds \(roots.count)")
        } catch {
            diagnosis.add(.failed, "trust roots", "\(file) holds no PEM certificates: \(error)")
        }
    }
}

extension Diagnosis {
    /// What HTTPS is served with.
    fileprivate mutating func add(certificates files: ServerConfiguration.TLSFiles, now: Timestamp) {
        let subject = "HTTPS certificate"
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            // Making a context compares the key with the certificate.
            _ = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
            let end = chain.first.map { Timestamp(seconds: Int64($0.notValidAfter)) }
            add(end, subject, now: now)
        } catch {
            add(.failed, subject, "\(files.certificate) with \(files.key) cannot be used: \(error)")
        }
    }

    private mutating func add(_ end: Timestamp?, _ subject: String, now: Timestamp) {
        guard let end else { return add(.failed, subject, "the file holds no certificate") }
        guard end > now else { return add(.failed, subject, "expired (\(end))") }
        let isNear = end < now + .seconds(86_400 * (Limits.expiryWarningDays.max() ?? 0))
        add(isNear ? .warning : .ok, subject, "expires \(end)")
    }
}
