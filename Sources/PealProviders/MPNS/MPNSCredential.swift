import PealCore

/// Checks the certificate of an authenticated service. MPNS also accepted notifications without one, up to 500 per day
/// and channel.
enum MPNSCredential {
    /// - Throws: `invalid_field`, naming the field.
    static func examine(_ credential: Credential.MPNSClient, now: Timestamp) throws(PealError) -> CredentialExamination
    {
        guard let identity = credential.identity else {
            return CredentialExamination(credential: .mpns(credential), facts: .init())
        }
        let certificate = try LeafCertificate(identity, now: now)
        return CredentialExamination(
            credential: .mpns(credential), facts: JSON.Members([("subject", .string(certificate.subject))]),
            expiresAt: certificate.expiresAt)
    }
}
