import NIOCore
import NIOSSL

/// What a TLS listener shows its clients: its certificate chain, leaf first, and the leaf's key.
struct ServerIdentity {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// A TLS context that speaks nothing but HTTP/2, as APNs does (TLS 1.2 or later, ALPN `h2`).
    func context() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        // A client that keeps its end open must not hold up the simulator's own.
        configuration.shutdownTimeout = .milliseconds(SimulatorLimits.tlsFarewellMilliseconds)
        return try NIOSSLContext(configuration: configuration)
    }
}
