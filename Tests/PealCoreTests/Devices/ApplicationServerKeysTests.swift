import PealCore
import Testing

@Suite("ApplicationServerKeys") struct ApplicationServerKeysTests {
    private static let old = Base64URL.encode(Array(repeating: 0xFB, count: 65))
    private static let new = Base64URL.encode(Array(repeating: 0xFF, count: 65))
    private let keys = ApplicationServerKeys(publicKeys: [old, new])

    private static func address(_ key: String? = nil) -> Address {
        let json = JSON.compact([
            ("endpoint", "https://a/b"), ("keys", ["p256dh": "x", "auth": "y"]),
            ("application_server_key", key.map(JSON.string)),
        ])
        return Address(route: .webPush, bytes: json.bytes)
    }

    @Test(
        "the named key is used, otherwise the former one, otherwise the newest",
        arguments: [
            (nil, nil, new), (nil, old, old), (nil, "gone", new), (old, new, old),
            (old.replacing("-", with: "+").replacing("_", with: "/") + "=", nil, old),
        ] as [(String?, String?, String)])
    func chosen(named: String?, fallback: String?, key: String) throws {
        let address = try keys.complete(Self.address(named), fallback: fallback)
        #expect(address.applicationServerKey == key)
        #expect(address.identity == Self.address().identity)
    }

    @Test("the key of another app is refused, and an app without one requires none")
    func unknown() throws {
        let foreign = Base64URL.encode(Array(repeating: 4, count: 65))
        let error = try #require(throws: PealError.self) { try keys.complete(Self.address(foreign)) }
        #expect(error.field == "address.application_server_key")
        let none = ApplicationServerKeys(publicKeys: [])
        #expect(try none.complete(Self.address()) == Self.address())
        #expect(throws: PealError.self) { try none.complete(Self.address(foreign)) }
    }

    @Test("addresses of other networks stay as they are")
    func others() throws {
        let address = Address(route: .fcm, bytes: Array("token".utf8))
        #expect(try keys.complete(address) == address)
    }
}
