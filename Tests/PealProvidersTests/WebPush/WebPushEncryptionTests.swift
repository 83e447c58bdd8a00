import Crypto
import PealCore
import Testing

@testable import PealProviders

@Suite("Web Push encryption")
struct WebPushEncryptionTests {
    @Test("produces the message of RFC 8291's appendix A")
    func vector() throws {
        let receiver = try #require(
            WebPushEncryption.Receiver(
                publicKey: try bytes(
                    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
                authenticationSecret: try bytes("BTBZMqHH6r4Tts7J_aSIgg")))
        let sender = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: try bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        let body = try WebPushEncryption.body(
            Array("When I grow up, I want to be a watermelon".utf8), for: receiver, sender: sender,
            salt: try bytes("DGv6ra1nlYgDCS1FRnbzlw"), isPadded: false)
        #expect(
            Base64URL.encode(body)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
                + "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    }

    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

    @Test("is read by the browser it is for, up to a body of 4,096 bytes", arguments: [0, 1, 100, 3992, 3993])
    func roundTrip(count: Int) throws {
        let browser = TestBrowser()
        let text = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let randomness = SeededRandomness(UInt64(count))
        let body = try WebPushEncryption.body(
            text, for: try #require(browser.receiver), sender: WebPushEncryption.senderKey(randomness),
            salt: randomness.bytes(16), isPadded: false)
        #expect(body.count == count + 103)
        #expect(try browser.decrypt(body) == text)
    }

    @Test(
        "has one of two lengths when it is padded, and the browser reads the same",
        arguments: [(0, 2744), (1, 2744), (2744, 2744), (2745, 3993), (3993, 3993)])
    func padding(count: Int, padded: Int) throws {
        let browser = TestBrowser()
        let text = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let randomness = SeededRandomness(UInt64(count))
        let body = try WebPushEncryption.body(
            text, for: try #require(browser.receiver), sender: WebPushEncryption.senderKey(randomness),
            salt: randomness.bytes(16))
        #expect(body.count == padded + 103)
        #expect(try browser.decrypt(body) == text)
    }

    @Test("is for keys that are points of the curve, with a secret of 16 bytes")
    func receivers() {
        let point = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
        let secret = [UInt8](repeating: 7, count: 16)
        func isReceiver(_ publicKey: [UInt8], _ secret: [UInt8]) -> Bool {
            WebPushEncryption.Receiver(publicKey: publicKey, authenticationSecret: secret) != nil
        }
        #expect(isReceiver(point, secret))
        #expect(!isReceiver(point, secret + [0]))
        #expect(!isReceiver(point, secret.dropLast()))
        #expect(!isReceiver(point.dropLast(), secret))
        #expect(!isReceiver([4] + Array(repeating: 1, count: 64), secret))
        #expect(!isReceiver([5] + point.dropFirst(), secret))
        #expect(!isReceiver([4] + Array(repeating: 0, count: 64), secret))
        #expect(!isReceiver(Array(repeating: 0, count: 65), secret))
        var other = point
        other[64] ^= 1
        #expect(!isReceiver(other, secret))
    }

    @Test("creates a key even from a source that returns only zeros")
    func zeros() {
        struct Zeros: Randomness { func next() -> UInt64 { 0 } }
        #expect(WebPushEncryption.senderKey(Zeros()).rawRepresentation.contains { $0 != 0 })
    }
}
