import Crypto
import PealCore

/// Encrypts messages for browsers: Message Encryption for Web Push (RFC 8291) in one record of the aes128gcm content
/// coding (RFC 8188). Pure: the caller supplies the sender's key and the salt, which must both be new for every
/// message.
enum WebPushEncryption {
    /// The record size in the header, in bytes: the body never exceeds it.
    private static let recordBytes: UInt32 = 4096
    /// Follows the plaintext of the last record (RFC 8188 §2).
    private static let lastRecordDelimiter: UInt8 = 2
    static let saltBytes = 16
    static let secretBytes = 16

    /// The browser's keys, which can decrypt the message.
    struct Receiver: Sendable {
        let publicKey: P256.KeyAgreement.PublicKey
        let authenticationSecret: [UInt8]

        /// - Parameters:
        ///   - publicKey: `p256dh`, 65 bytes, uncompressed.
        ///   - authenticationSecret: `auth`, 16 bytes.
        /// - Returns: nil if a length is wrong or the key is not a point on P-256.
        init?(publicKey: [UInt8], authenticationSecret: [UInt8]) {
            guard publicKey.count == 65, authenticationSecret.count == WebPushEncryption.secretBytes,
                let key = try? P256.KeyAgreement.PublicKey(x963Representation: publicKey)
            else { return nil }
            self.publicKey = key
            self.authenticationSecret = authenticationSecret
        }
    }

    /// The request's body: salt, record size, the sender's public key, and the encrypted record.
    /// - Parameters:
    ///   - plaintext: at most `Limits.webPushPlaintextBytesMax` bytes.
    ///   - isPadded: whether to hide the length of the plaintext (RFC 8291 §4).
    ///   - salt: 16 bytes.
    /// - Throws: errors from Crypto; none for keys that Crypto created.
    static func body(
        _ plaintext: [UInt8], for receiver: Receiver, sender: P256.KeyAgreement.PrivateKey, salt: [UInt8],
        isPadded: Bool = true
    ) throws -> [UInt8] {
        precondition(plaintext.count <= Limits.webPushPlaintextBytesMax && salt.count == saltBytes)
        let senderKey = Array(sender.publicKey.x963Representation)
        let shared = try sender.sharedSecretFromKeyAgreement(with: receiver.publicKey)
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: receiver.authenticationSecret,
            sharedInfo: Array("WebPush: info\0".utf8) + receiver.publicKey.x963Representation + senderKey,
            outputByteCount: 32)
        let extracted = HKDF<SHA256>.extract(inputKeyMaterial: input, salt: salt)
        let key = HKDF<SHA256>.expand(
            pseudoRandomKey: extracted, info: Array("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        let nonce = HKDF<SHA256>.expand(
            pseudoRandomKey: extracted, info: Array("Content-Encoding: nonce\0".utf8), outputByteCount: 12)
        let sealed = try AES.GCM.seal(
            plaintext + [lastRecordDelimiter] + padding(of: plaintext, isPadded), using: key,
            nonce: nonce.withUnsafeBytes { try AES.GCM.Nonce(data: $0) })
        var body = salt
        body.reserveCapacity(salt.count + 5 + senderKey.count + sealed.ciphertext.count + sealed.tag.count)
        for shift in [24, 16, 8, 0] { body.append(UInt8(truncatingIfNeeded: recordBytes >> UInt32(shift))) }
        body.append(UInt8(senderKey.count))
        body += senderKey
        body += sealed.ciphertext
        body += sealed.tag
        return body
    }

    /// Zeros that give every payload one of two lengths (RFC 8188 §2): the longest that push services which bridge to
    /// phones accept, or the longest that any accepts.
    private static func padding(of plaintext: [UInt8], _ isPadded: Bool) -> [UInt8] {
        guard isPadded else { return [] }
        let goal = [Limits.webPushBridgedBytesMax, Limits.webPushPlaintextBytesMax].first { plaintext.count <= $0 }
        return [UInt8](repeating: 0, count: max(0, (goal ?? 0) - plaintext.count))
    }

    /// A key for one message. The chance that 32 random bytes are not a valid key is one in 2³².
    static func senderKey(_ randomness: any Randomness) -> P256.KeyAgreement.PrivateKey {
        for _ in 0..<4 {
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: randomness.bytes(32)) { return key }
        }
        return P256.KeyAgreement.PrivateKey()
    }
}

/// A browser's subscription, parsed from a stored address: where to send, for whom to encrypt, and under which key.
struct WebPushSubscription: Sendable {
    let endpoint: String
    let receiver: WebPushEncryption.Receiver
    /// The application server key of the subscription, in base64url without padding; nil for the app's newest.
    let serverKey: String?

    /// nil if keys are missing or invalid, so that nothing can be encrypted for it.
    init?(_ address: some Collection<UInt8>) {
        guard let json = try? JSONParser.parse(Array(address), isStored: true) else { return nil }
        self.init(json)
    }

    init?(_ json: JSON) {
        guard let endpoint = json["endpoint"]?.stringValue,
            let publicKey = json["keys"]?["p256dh"]?.stringValue.flatMap(Base64URL.decode),
            let secret = json["keys"]?["auth"]?.stringValue.flatMap(Base64URL.decode),
            let receiver = WebPushEncryption.Receiver(publicKey: publicKey, authenticationSecret: secret)
        else { return nil }
        self.endpoint = endpoint
        self.receiver = receiver
        serverKey = json["application_server_key"]?.stringValue.flatMap(Base64URL.decode).map(Base64URL.encode)
    }

    /// The endpoint of an address in its stored form, found without parsing the rest; nil for any other form.
    static func endpoint(of address: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let start = Array(#"{"endpoint":""#.utf8)
        guard address.starts(with: start) else { return nil }
        let text = address.dropFirst(start.count)
        guard let end = text.firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }),
            text[end] == UInt8(ascii: "\"")
        else { return nil }
        return text[..<end]
    }
}
