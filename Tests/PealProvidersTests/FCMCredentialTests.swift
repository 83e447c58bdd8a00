import Crypto
import CryptoExtras
import NIOPosix
import PealCore
import Testing

@testable import PealProviders

@Suite("FCM credentials")
struct FCMCredentialTests {
    static let hosts = FCMConfiguration(tokenAllowedHosts: ["localhost:8443", "tokens.example.com", ".test"]).tokenHosts

    @Test("that are valid are accepted, and their public parts shown")
    func sound() throws {
        let examined = try FCMCredential.examine(testServiceAccount, tokenHosts: Self.hosts)
        #expect(examined.credential == .fcm(testServiceAccount))
        #expect(
            JSON.object(examined.facts) == [
                "project_id": "example-project", "client_email": "push@example-project.iam.gserviceaccount.com",
                "private_key_id": "abc123",
            ])
    }

    @Test("the key may be PKCS#1, and its id may be missing")
    func otherForms() throws {
        var account = testServiceAccount
        account.privateKey = testRSAKey.pemRepresentation
        #expect(account.privateKey.hasPrefix("-----BEGIN RSA PRIVATE KEY-----"))
        account.privateKeyID = nil
        _ = try FCMCredential.examine(account, tokenHosts: Self.hosts)
    }

    @Test(
        "that are invalid are refused with the field",
        arguments: [
            ("project_id", ""), ("project_id", "a/b"), ("project_id", String(repeating: "p", count: 256)),
            ("client_email", ""), ("client_email", "no address"), ("client_email", "a@b\n"),
            ("private_key_id", "a b"), ("private_key", ""), ("private_key", "no key"),
            ("private_key", P256.Signing.PrivateKey().pemRepresentation),
            ("private_key", testRSAKey.publicKey.pemRepresentation),
            ("private_key", testSmallRSAKey.pkcs8PEMRepresentation),
            ("token_uri", "https://tokens.example.org/token"), ("token_uri", ""),
        ])
    func faults(field: String, value: String) {
        var account = testServiceAccount
        switch field {
        case "project_id": account.projectID = value
        case "client_email": account.clientEmail = value
        case "private_key_id": account.privateKeyID = value
        case "private_key": account.privateKey = value
        default: account.tokenURI = value
        }
        let error = #expect(throws: PealError.self) { try FCMCredential.examine(account, tokenHosts: Self.hosts) }
        #expect(error?.code == .invalidField)
        #expect(error?.field == "service_account.\(field)")
    }

    @Test(
        "access tokens may come from Google and from where the configuration says",
        arguments: [
            ("https://oauth2.googleapis.com/token", true), ("https://accounts.google.com/o/oauth2/token", true),
            ("https://www.googleapis.com/oauth2/v4/token", true), ("HTTPS://OAuth2.GoogleAPIs.com/token", true),
            ("https://oauth2.googleapis.com:443/token", true), ("https://oauth2.googleapis.com:8443/token", false),
            ("http://oauth2.googleapis.com/token", false), ("https://evil-googleapis.com/token", false),
            ("https://oauth2.googleapis.com.evil.org/token", false), ("https://googleapis.com/token", true),
            ("https://user@oauth2.googleapis.com/token", false), ("https://evil.org\\@oauth2.googleapis.com/", false),
            ("https://evil.org/oauth2.googleapis.com", false), ("https://oauth2.googleapis.com/t#x", false),
            ("https://oauth2.googleapis.com/t t", false), ("ftp://oauth2.googleapis.com/", false),
            ("https://localhost:8443/token", true), ("http://localhost:8443/token", true),
            ("https://localhost:8444/token", false), ("http://127.0.0.1:8443/token", false),
            ("https://tokens.example.com/token", true), ("https://tokens.example.com:9/token", false),
            ("http://tokens.example.com/token", false), ("https://a.test/", true), ("https://.test/", false),
            ("https://169.254.169.254/token", false), ("https://[::1]/token", false),
        ])
    func tokenHosts(url: String, isAllowed: Bool) {
        #expect(Self.hosts.contains(url) == isAllowed)
    }

    @Test("assertions are RS256 JWTs that anyone can verify")
    func assertion() async throws {
        let client = try OutboundClient(.init(), group: MultiThreadedEventLoopGroup.singleton, time: ManualTime())
        let source = try FCMTokenSource(testServiceAccount, client: client, time: ManualTime())
        let text = try #require(source.assertion(at: Timestamp(seconds: 1_800_000_000)))
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        #expect(
            try JSONParser.parse(try #require(Base64URL.decode(parts[0])))
                == ["alg": "RS256", "typ": "JWT", "kid": "abc123"])
        #expect(
            try JSONParser.parse(try #require(Base64URL.decode(parts[1]))) == [
                "iss": "push@example-project.iam.gserviceaccount.com",
                "scope": "https://www.googleapis.com/auth/firebase.messaging",
                "aud": "https://oauth2.googleapis.com/token", "iat": 1_800_000_000, "exp": 1_800_003_600,
            ])
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        let digest = SHA256.hash(data: Array((parts[0] + "." + parts[1]).utf8))
        #expect(testRSAKey.publicKey.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5))
        await client.close()
    }

    @Test(
        "the URL may have a path",
        arguments: [
            ("https://fcm.googleapis.com", "fcm.googleapis.com", ""),
            ("https://localhost:8443/fcm/", "localhost:8443", "/fcm"),
            ("https://proxy.example.com/a/b", "proxy.example.com", "/a/b"),
        ])
    func base(url: String, authority: String, prefix: String) throws {
        let base = try FCMConfiguration(url: url).base()
        #expect(base.endpoint.authority == authority)
        #expect(base.path(projectID: "p") == "\(prefix)/v1/projects/p/messages:send")
    }

    @Test(
        "and nothing else",
        arguments: ["http://localhost:1", "https://", "https:///fcm", "https://a/b?c", "https://a/b#c", "fcm", ""])
    func badBase(url: String) {
        #expect(throws: FCMConfigurationError.self) { try FCMConfiguration(url: url).base() }
    }
}
