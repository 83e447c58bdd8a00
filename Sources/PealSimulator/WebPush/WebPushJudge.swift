import Crypto
import Foundation

/// The checks of the headers of RFC 8030 and of the size of the body.
enum WebPushHeaderCheck {
    private static let urgencies: Set<String> = ["very-low", "low", "normal", "high"]

    /// Throws the reason why `request` is invalid.
    static func check(_ request: PushRequest) throws(WebPushRefusal) {
        guard let life = request.value("ttl") else { throw WebPushRefusal(400, 111, "MissingTTL") }
        guard !life.isEmpty, life.utf8.allSatisfy({ (0x30...0x39).contains($0) }), Int64(life) != nil else {
            throw WebPushRefusal(400, 112, "BadTTL")
        }
        if let urgency = request.value("urgency"), !urgencies.contains(urgency) {
            throw WebPushRefusal(400, 0, "BadUrgency")
        }
        if let topic = request.value("topic") {
            let isGood = topic.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x5F
            }
            guard isGood, (1...SimulatorLimits.webPushTopicMax).contains(topic.utf8.count) else {
                throw WebPushRefusal(400, 113, "BadTopic")
            }
        }
        guard request.bodyBytes <= SimulatorLimits.webPushBodyBytesMax else {
            throw WebPushRefusal(413, 104, "PayloadTooLarge")
        }
        // A message without a body only wakes the client, and is not encrypted.
        if !request.body.isEmpty, request.value("content-encoding") != "aes128gcm" {
            throw WebPushRefusal(400, 110, "BadContentEncoding")
        }
    }
}

/// Checks `Authorization: vapid t=…, k=…` (RFC 8292), and the contact as strictly as Apple does.
enum VAPIDCheck {
    /// Returns the fingerprint of the token; nil when none is given and none is required.
    static func check(
        _ request: PushRequest, applicationServerKey: [UInt8]?, nowSeconds: Int64
    ) throws(WebPushRefusal) -> UInt64? {
        guard let text = request.credentials("vapid") else {
            guard applicationServerKey == nil, request.value("authorization") == nil else {
                throw WebPushRefusal(401, 109, "MissingVapid")
            }
            return nil
        }
        var parameters: [Substring: String] = [:]
        for part in text.split(separator: ",") {
            let halves = part.trimmingPrefix(" ").split(separator: "=", maxSplits: 1)
            if halves.count == 2 { parameters[halves[0]] = String(halves[1]) }
        }
        guard let signed = parameters["t"], let parts = JSONWebToken(signed), let key = parameters["k"],
            let keyBytes = URLSafeBase64.decode(key),
            let publicKey = try? P256.Signing.PublicKey(x963Representation: keyBytes)
        else { throw .badToken }
        try checkSignature(parts, publicKey)
        if let applicationServerKey, applicationServerKey != Array(keyBytes) { throw .keyMismatch }
        try checkClaims(parts.claims, origin: request.origin, nowSeconds)
        return Fingerprint.of(signed, isFoldingCase: false)
    }

    private static func checkSignature(_ parts: JSONWebToken, _ key: P256.Signing.PublicKey) throws(WebPushRefusal) {
        guard parts.header["alg"]?.string == "ES256",
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: parts.signature),
            key.isValidSignature(signature, for: Data(parts.signed))
        else { throw .badToken }
    }

    private static func checkClaims(
        _ claims: JSONValue, origin: String, _ nowSeconds: Int64
    ) throws(WebPushRefusal) {
        guard claims["aud"]?.string == origin else { throw .badToken }
        guard let expires = claims["exp"]?.integer, expires > nowSeconds,
            expires <= nowSeconds + SimulatorLimits.vapidLifeSeconds
        else { throw .badToken }
        guard let contact = claims["sub"]?.string, isContact(contact) else { throw .badToken }
    }

    /// `mailto:` or `https:`, without spaces and angle brackets, and not on the local machine.
    private static func isContact(_ text: String) -> Bool {
        guard !text.contains(where: { $0 == " " || $0 == "<" || $0 == ">" }) else { return false }
        if text.hasPrefix("mailto:") {
            let halves = text.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
            return halves.count == 2 && !halves[0].isEmpty && isPublic(halves[1])
        }
        guard text.hasPrefix("https://") else { return false }
        return isPublic(text.dropFirst("https://".count).prefix { !"/:?#".contains($0) })
    }

    private static func isPublic(_ host: Substring) -> Bool {
        let host = host.lowercased()
        return host.contains(".") && !host.hasPrefix(".") && !host.hasSuffix(".") && !host.hasSuffix(".localhost")
            && host != "127.0.0.1"
    }
}

/// Decrypts a body of one record (RFC 8291 §3.4, RFC 8188 §2).
enum WebPushDecryption {
    private static let headBytes = 21
    private static let pointBytes = 65
    private static let tagBytes = 16

    /// The plaintext of `body`; nil when it was not encrypted for `subscription`.
    static func open(_ body: [UInt8], for subscription: BrowserSubscription) -> [UInt8]? {
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

/// Thrown by a failed check; answered as Mozilla's service does
/// (https://mozilla-services.github.io/autopush-rs/errors.html), with Apple's reason if there is one.
struct WebPushRefusal: Error, Equatable {
    let status: Int
    /// Mozilla's number of the error.
    let number: Int
    let reason: String

    init(_ status: Int, _ number: Int, _ reason: String) {
        self.status = status
        self.number = number
        self.reason = reason
    }

    static let badToken = WebPushRefusal(403, 109, "BadJwtToken")
    static let keyMismatch = WebPushRefusal(403, 109, "VapidPkHashMismatch")

    /// The refusal for a fault.
    init(_ fault: FaultAnswer) {
        let number =
            switch fault.status {
            case 404: 102
            case 410: 106
            case 413: 104
            case 401, 403: 109
            case 429, 500...: 201
            default: 0
            }
        self.init(fault.status, number, fault.reason)
    }

    var answer: HTTPAnswer {
        .json(
            status,
            JSONText.object([
                ("code", String(status)), ("errno", String(number)), ("error", JSONText.quoted(Self.name(status))),
                ("message", JSONText.quoted(reason)), ("reason", JSONText.quoted(reason)),
            ]),
            headers: status == 401 ? [("www-authenticate", "vapid")] : [])
    }

    private static func name(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Payload Too Large"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: status < 500 ? "Error" : "Internal Server Error"
        }
    }
}
