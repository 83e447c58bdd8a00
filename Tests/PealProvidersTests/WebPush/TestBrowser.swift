import Crypto
import PealCore

@testable import PealProviders

/// A browser with its own subscription: provides the address, and decrypts what is sent to it.
struct TestBrowser: Sendable {
    let key: P256.KeyAgreement.PrivateKey
    let secret: [UInt8]
    let endpoint: String
    let serverKey: String?

    init(
        endpoint: String = "https://push.example.net/abc", serverKey: String? = nil,
        key: P256.KeyAgreement.PrivateKey = .init(), secret: [UInt8] = Array(0..<16)
    ) {
        self.endpoint = endpoint
        self.serverKey = serverKey
        self.key = key
        self.secret = secret
    }

    var receiver: WebPushEncryption.Receiver? {
        .init(publicKey: Array(key.publicKey.x963Representation), authenticationSecret: secret)
    }

    var json: JSON {
        let publicKey = Base64URL.encode(Array(key.publicKey.x963Representation))
        return .compact([
            ("endpoint", .string(endpoint)),
            ("keys", ["p256dh": .string(publicKey), "auth": .string(Base64URL.encode(secret))]),
            ("application_server_key", serverKey.map(JSON.string)),
        ])
    }

    var address: Address { Address(route: .webPush, bytes: json.bytes) }

    /// The text of a message that has one record (RFC 8188, RFC 8291).
    func decrypt(_ body: [UInt8]) throws -> [UInt8] {
        let senderKey = try P256.KeyAgreement.PublicKey(x963Representation: body[21..<86])
        let shared = try key.sharedSecretFromKeyAgreement(with: senderKey)
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: secret,
            sharedInfo: Array("WebPush: info\0".utf8) + key.publicKey.x963Representation + body[21..<86],
            outputByteCount: 32)
        func derive(_ name: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: Array(body[..<16]), info: Array("Content-Encoding: \(name)\0".utf8),
                outputByteCount: count)
        }
        let nonce = try derive("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: $0) }
        let box = try AES.GCM.SealedBox(nonce: nonce, ciphertext: body[86..<(body.count - 16)], tag: body.suffix(16))
        var text = Array(try AES.GCM.open(box, using: derive("aes128gcm", 16)))
        while text.last == 0 { text.removeLast() }
        guard text.popLast() == 2 else { throw TestFailure("not a last record") }
        return text
    }
}

/// A VAPID key as it is stored.
func testVAPIDKey(_ subject: String = "mailto:push@example.com", _ number: UInt8 = 1) throws -> Credential.VAPIDKey {
    let bytes = Array(repeating: number, count: 32)
    let key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
    return Credential.VAPIDKey(
        subject: subject, privateKey: Base64URL.encode(bytes),
        publicKey: Base64URL.encode(Array(key.publicKey.x963Representation)),
        createdAt: Timestamp(seconds: 1_700_000_000))
}

/// An order for one page of browsers.
func testWebOrder(
    _ browsers: [TestBrowser], keys: [Credential.VAPIDKey], notification: Notification,
    deadline: Duration = .seconds(36_000), fingerprint: String = "web"
) -> PageOrder {
    var page = DevicePage(through: DeviceKey(browsers.count), isLast: true, readAt: Timestamp(seconds: 0))
    for (number, browser) in browsers.enumerated() {
        browser.address.bytes.withUnsafeBytes {
            page.append(key: DeviceKey(number + 1), address: $0, revision: 1, locale: 0)
        }
    }
    return PageOrder(
        slice: Slice.ID(app: 1, message: MessageID(high: 7, low: 9), route: .webPush, rangeStart: 0, part: 0),
        credential: .webPush(keys), fingerprint: fingerprint, page: page, notifications: [notification],
        variants: Array(repeating: 0, count: browsers.count), lane: .bulk, deadline: deadline, control: SendControl())
}

/// A rendered greeting.
func testWebNotification(
    _ change: (inout Content, inout MessageOptions) -> Void = { _, _ in },
    now: Timestamp = Timestamp(seconds: 1_800_000_000), lifeSeconds: Int64 = 3600
) throws -> Notification {
    var content = Content()
    content.title = .plain("Hello")
    content.body = .plain("World")
    var options = MessageOptions()
    change(&content, &options)
    return try WebPushRendering.notification(
        RenderOrder(
            message: MessageID(high: 1, low: 2), content: content, options: options, locale: nil, route: .webPush,
            providerAppID: "", expiresAt: now + .seconds(lifeSeconds), now: now))
}
