import NIOCore
import NIOSSL

/// What a TLS listener shows its clients: its certificate chain, leaf first, and the leaf's key.
struct ServerIdentity {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// A TLS context that speaks `protocols` (ALPN), TLS 1.2 or later. One that asks for a client certificate takes
    /// any, and none: `acceptAny` has to be its verification, since the judges want to refuse in words.
    func context(protocols: [String], asksForCertificate: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        if asksForCertificate { configuration.certificateVerification = .optionalVerification }
        // A client that keeps its end open must not hold up the simulator's own.
        configuration.shutdownTimeout = .milliseconds(SimulatorLimits.tlsFarewellMilliseconds)
        return try NIOSSLContext(configuration: configuration)
    }

    /// Lets every client certificate pass TLS.
    @Sendable static func acceptAny(
        _ chain: [NIOSSLCertificate], _ promise: EventLoopPromise<NIOSSLVerificationResult>
    ) {
        promise.succeed(.certificateVerified)
    }
}
