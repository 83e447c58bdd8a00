import NIOHTTP1
import PealCore

/// Asks Microsoft for an app's access tokens: login.live.com for Store apps, the app's tenant at Microsoft Entra for
/// those of the Windows App SDK (OAuth 2.0 client credentials, RFC 6749 §4.4).
struct WNSTokenSource: AccessTokenSource {
    let credential: Credential.WNSClient
    let configuration: WNSConfiguration
    let client: OutboundClient
    let time: any TimeSource

    func fetch() async -> AccessTokenReply {
        do {
            return AccessTokenReply(try await client.send(request), now: time.now)
        } catch {
            return AccessTokenReply(error)
        }
    }

    var request: OutboundRequest {
        let url: String
        let fields: [(String, String)]
        switch credential {
        case .storeApp(let packageSID, let clientSecret):
            url = configuration.tokenURL
            fields = [("client_id", packageSID), ("client_secret", clientSecret), ("scope", "notify.windows.com")]
        case .tenant(let tenantID, let clientID, let clientSecret):
            url = configuration.tenantTokenURL.replacing("{tenant_id}", with: tenantID)
            fields = [
                ("client_id", clientID), ("client_secret", clientSecret),
                ("scope", "https://wns.windows.com/.default"),
            ]
        }
        let form = ([("grant_type", "client_credentials")] + fields)
            .map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&")
        return OutboundRequest(
            url: url, headers: ["content-type": "application/x-www-form-urlencoded"], body: Array(form.utf8))
    }

    /// Everything but unreserved characters (RFC 3986 §2.3) as `%XX`.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) {
                out.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                out += "%" + Hex.encode([byte]).uppercased()
            }
        }
        return out
    }
}
