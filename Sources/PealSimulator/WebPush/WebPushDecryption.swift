import Crypto
import Foundation

/// Opens a body of one record (RFC 8291 §3.4, RFC 8188 §2).
enum WebPushDecryption {
    private static let headBytes = 21
    private static let pointBytes = 65
    private static let tagBytes = 16

    /// The plaintext of `body`; nil when it was not made for `subscription`.
    static func open(_ body: [UInt8], for subscription: WebPushSubscription) -> [UInt8]? {
        guard body.count >= headBytes + pointBytes + tagBytes + 1, Int(body[20]) == pointBytes else { return nil }
        let recordBytes = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let point = body[headBytes..<(headBytes + pointBytes)]
        let record = body[(headBytes + pointBytes)...]
        guard recordBytes >= 18, record.count <= recordBytes,
            let senderKey = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let shared = try? subscription.key.sharedSecretFromKeyAgreement(with: senderKey)
        else { return nil }
        let receiver = subscription.key.publicKey.x963Representation
        let keyText = Data("WebPush: info\0".utf8) + receiver + Data(point)
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.secret, sharedInfo: keyText, outputByteCount: 32)
        let salt = body[0..<16]
        let key = derive(material, salt, "Content-Encoding: aes128gcm\0", 16)
        let nonce = derive(material, salt, "Content-Encoding: nonce\0", 12).withUnsafeBytes { Data($0) }
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: record.dropLast(tagBytes), tag: record.suffix(tagBytes)),
            let plain = try? AES.GCM.open(box, using: key)
        else { return nil }
        return unpadded(plain)
    }

    private static func derive(
        _ material: SymmetricKey, _ salt: ArraySlice<UInt8>, _ purpose: String, _ bytes: Int
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: material, salt: salt, info: Data(purpose.utf8), outputByteCount: bytes)
    }

    /// The last record ends with 2 and zeros.
    private static func unpadded(_ plain: Data) -> [UInt8]? {
        guard let end = plain.lastIndex(where: { $0 != 0 }), plain[end] == 2 else { return nil }
        return Array(plain[..<end])
    }
}
