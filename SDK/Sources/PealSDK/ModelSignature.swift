internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#endif

/// Checks who signed a model file.
enum ModelSignature {
    /// Whether an Ed25519 signature of bytes was made with this public key. Without Apple's CryptoKit nothing is
    /// accepted, and the built-in model stays in use: elsewhere, `PealDependencies.verify` takes another
    /// implementation, such as swift-crypto's.
    /// - Parameter publicKey: 32 bytes in base64.
    @Sendable static func verify(_ publicKey: String, _ payload: [UInt8], _ signature: [UInt8]) -> Bool {
        #if canImport(CryptoKit)
            guard let bytes = Data(base64Encoded: publicKey),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
            else { return false }
            return key.isValidSignature(Data(signature), for: Data(payload))
        #else
            return false
        #endif
    }
}
