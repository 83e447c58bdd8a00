import Crypto
import Foundation

@testable import PealSimulator

/// A developer account of a test: signs provider tokens, and makes requests that pass every check.
struct SigningAccount {
    static let now: Int64 = 1_800_000_000
    static let device = String(repeating: "a1", count: 32)

    let key = P256.Signing.PrivateKey()
    var keyID = "KEY0000001"
    var teamID = "TEAM000001"
    var bundleIDs: Set<String> = ["com.example.demo"]

    /// Makes the key known to `ring`.
    func enroll(in ring: ProviderKeys, environment: PushEnvironment? = nil) throws {
        let known = try ProviderKey(
            teamID: teamID, publicKeyPEM: key.publicKey.pemRepresentation, bundleIDs: bundleIDs,
            environment: environment)
        try ring.set(known, id: keyID)
    }

    /// A provider token of these claims; `issuedAt` is JSON.
    func providerToken(issuedAt: String = "\(now)", algorithm: String = "ES256", team: String? = nil) throws -> String {
        let header = Self.encode(Data(#"{"alg":"\#(algorithm)","kid":"\#(keyID)"}"#.utf8))
        let claims = Self.encode(Data(#"{"iss":"\#(team ?? teamID)","iat":\#(issuedAt)}"#.utf8))
        let signature = try key.signature(for: Data("\(header).\(claims)".utf8))
        return "\(header).\(claims).\(Self.encode(signature.rawRepresentation))"
    }

    /// A request that passes, with `changes` to its headers; nil takes a header away.
    func request(
        path: String = "/3/device/\(device)", method: String = "POST", body: String = #"{"aps":{"alert":"Hi"}}"#,
        _ changes: [String: String?] = [:]
    ) throws -> PushRequest {
        var headers: [String: String] = [
            "authorization": "bearer \(try providerToken())", "apns-topic": "com.example.demo",
            "apns-push-type": "alert", "apns-priority": "10", "apns-expiration": "0",
            "apns-id": "01234567-89ab-cdef-0123-456789abcdef",
        ]
        for (name, value) in changes { headers[name] = value }
        return PushRequest(
            method: method, path: path, headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
            body: Array(body.utf8))
    }

    private static func encode(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
