import PealCore
import Testing

@Suite("AddressRules") struct AddressRulesTests {
    private let rules = AddressRules(hosts: [.wns: [".notify.windows.com", "localhost:8443"]])
    private static let publicKey = String(repeating: "B", count: 87)
    private static let secret = String(repeating: "A", count: 22)

    private func check(_ value: JSON, _ platform: Platform) throws -> Address {
        try rules.address(value, platform: platform, environment: .production)
    }

    @Test(
        "stores an APNs token as bytes, whatever its case",
        arguments: [
            "00112233445566aa", "00112233445566AA", String(repeating: "f", count: 400),
        ])
    func deviceTokens(text: String) throws {
        let address = try check(.string(text), .ios)
        #expect(address.route == .apnsProduction)
        #expect(address.json == .string(text.lowercased()))
    }

    @Test(
        "refuses what cannot be an APNs token",
        arguments: [
            "", "00112233445566", "00112233445566a", "00112233445566aaz", "<0011223344556677>", " 00112233445566a",
            String(repeating: "f", count: 402), String(repeating: "f", count: 399), "00112233445566é",
        ])
    func badDeviceTokens(text: String) throws {
        let error = try #require(throws: PealError.self) { try check(.string(text), .ios) }
        #expect(error.code == .invalidField && error.field == "address")
    }

    @Test("refuses an address of the wrong type", arguments: Platform.allCases)
    func types(platform: Platform) throws {
        for value in [JSON.null, 5, true, [], .string("")] {
            let error = try #require(throws: PealError.self) { try check(value, platform) }
            #expect(error.field == "address")
        }
    }

    @Test(
        "accepts channel URIs only on allowed hosts",
        arguments: [
            ("https://db5.notify.windows.com/?token=abc", true),
            ("HTTPS://DB5.Notify.Windows.Com/x", true),
            ("https://db5.notify.windows.com", true),
            ("https://db5.notify.windows.com:443/x", true),
            ("https://localhost:8443/x", true),
            ("https://localhost/x", false),
            ("https://localhost:84430/x", false),
            ("https://notify.windows.com/x", true),
            ("https://db5.notify.windows.com./x", true),
            ("https://db5.notify.windows.com../x", false),
            ("https://db5..notify.windows.com/x", false),
            ("https://db5_1.notify.windows.com/x", false),
            ("https://db5.notify.windows.com:8443/x", false),
            ("https://db5.notify.windows.com:0/x", false),
            ("https://db5.notify.windows.com:0443/x", true),
            ("https://db5.notify.windows.com:+443/x", false),
            ("https://db5.notify.windows.com/x#f", false),
            ("https://db5.notify.windows.com#f", false),
            ("https://db5.notify.windows.com/x?a=<b>", false),
            ("https://db5.notify.windows.com/?token=AgU%2fK0%3d", true),
            ("https://[::1]/x", false),
            ("https://127.0.0.1/x", false),
            ("http://db5.notify.windows.com/x", false),
            ("http://localhost:8443/x", true),
            ("http://localhost:8444/x", false),
            ("https://localhost.:8443/x", true),
            ("https://.notify.windows.com/x", false),
            ("https://evil.com/.notify.windows.com", false),
            ("https://evil.com?.notify.windows.com", false),
            ("https://evil.com#.notify.windows.com", false),
            ("https://evil.com\\.notify.windows.com", false),
            ("https://a@db5.notify.windows.com/x", false),
            ("https://evil.com%2f.notify.windows.com/x", false),
            ("https://evil.com%00.notify.windows.com/x", false),
            ("https://evil.com:80:.notify.windows.com/x", false),
            ("https://db5.notify.windows.com:port/x", false),
            ("https://db5.notify.windows.com:/x", false),
            ("https://db5.notify.windows.com:70000/x", false),
            ("https://evil.com;.notify.windows.com/x", false),
            ("ftp://db5.notify.windows.com/x", false),
            ("//db5.notify.windows.com/x", false),
            ("https:/db5.notify.windows.com/x", false),
            ("https://db5.notify.windows.com/a b", false),
            ("https://db5.notify.windows.com/\u{7f}", false),
            ("https://db5.notify.windows.com/é", false),
            ("https://db5.notify.windows.com.evil.com/x", false),
            ("https://evilnotify.windows.com/x", false),
            ("https://", false),
        ])
    func channels(uri: String, isAllowed: Bool) {
        let address = try? check(.string(uri), .windows)
        #expect((address != nil) == isAllowed)
        if isAllowed { #expect(address?.json == .string(uri)) }
    }

    @Test(
        "accepts registration tokens of printable characters",
        arguments: [
            ("fcm:APA91b_-:x", true), ("a b", false), ("a\"b", false), ("a\\b", false), ("a\nb", false), ("é", false),
            (String(repeating: "x", count: 4096), true), (String(repeating: "x", count: 4097), false),
        ])
    func registrationTokens(text: String, isAllowed: Bool) {
        #expect(((try? check(.string(text), .android)) != nil) == isAllowed)
    }

    @Test(
        "names the field of a subscription that is at fault",
        arguments: [
            (#"{"keys":{"p256dh":"P","auth":"A"}}"#, "address.endpoint"),
            (#"{"endpoint":"https://evil.com/x","keys":{"p256dh":"P","auth":"A"}}"#, "address.endpoint"),
            (#"{"endpoint":"https://fcm.googleapis.com/x"}"#, "address.keys.p256dh"),
            (
                #"{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"AAAA","auth":"A"}}"#,
                "address.keys.p256dh"
            ),
            (#"{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"P"}}"#, "address.keys.auth"),
            (#"{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"P","auth":5}}"#, "address.keys.auth"),
            (
                #"{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"P","auth":"A"},"#
                    + #""application_server_key":"x"}"#,
                "address.application_server_key"
            ),
        ])
    func badSubscriptions(text: String, field: String) throws {
        let filled = text.replacing("\"P\"", with: "\"\(Self.publicKey)\"").replacing(
            "\"A\"", with: "\"\(Self.secret)\"")
        let error = try #require(throws: PealError.self) { try check(try JSONParser.parse(filled), .web) }
        #expect(error.field == field)
    }

    @Test(
        "distinguishes a missing member of a subscription from one of another type",
        arguments: [
            (#"{"keys":{}}"#, PealError.Code.missingField, "address.endpoint"),
            (#"{"endpoint":null}"#, .missingField, "address.endpoint"),
            (#"{"endpoint":5}"#, .invalidField, "address.endpoint"),
            (#"{"endpoint":"https://fcm.googleapis.com/x","keys":"k"}"#, .invalidField, "address.keys"),
            (#"{"endpoint":"https://fcm.googleapis.com/x","keys":null}"#, .missingField, "address.keys.p256dh"),
            (
                #"{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":5}}"#, .invalidField,
                "address.keys.p256dh"
            ),
        ])
    func subscriptionTypes(text: String, code: PealError.Code, field: String) throws {
        let error = try #require(throws: PealError.self) { try check(try JSONParser.parse(text), .web) }
        #expect(error.code == code && error.field == field)
    }

    @Test("identifies a subscription by its endpoint alone")
    func subscriptionIdentity() throws {
        let base: JSON = [
            "endpoint": "https://fcm.googleapis.com/x",
            "keys": ["p256dh": .string(Self.publicKey), "auth": .string(Self.secret)],
            "expirationTime": .null,
        ]
        let address = try check(base, .web)
        #expect(address.identity == Array("https://fcm.googleapis.com/x".utf8))
        #expect(address.json["expirationTime"] == nil && address.json["keys"]?["auth"] == .string(Self.secret))
    }

    @Test(
        "converts a channel's id to standard base64 from either alphabet",
        arguments: [("a-_0AAA", "a+/0AAA="), ("a-_0", "a+/0"), ("a-_", "a+/="), ("a+/=", "a+/="), ("abcde", "abcde")])
    func broadcastChannels(text: String, stored: String) throws {
        let address = try rules.channel(.string(text), environment: .sandbox)
        #expect(address.route == .apnsBroadcastSandbox)
        #expect(String(decoding: address.bytes, as: UTF8.self) == stored)
    }
}
