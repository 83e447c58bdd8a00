/// How a client certificate stands with the simulator.
enum CertificateStanding: Sendable, Equatable {
    case good(ClientCertificate)
    /// Signed by somebody else, expired, or for no topic.
    case bad
}
