internal import PealCore

/// What an application or a platform of a Pivotal server shows in HTTP Basic (RFC 7617): its UUID, and its key or
/// secret.
struct PivotalLogin: Sendable {
    let uuid: String
    let secret: String

    init(uuid: String, secret: String) {
        self.uuid = uuid
        self.secret = secret
    }

    /// - Parameter text: `uuid:secret`; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.init(uuid: parts[0], secret: parts[1])
    }

    var authorization: String { "Basic " + Self.base64(Array("\(uuid):\(secret)".utf8)) }

    /// RFC 4648 §4, with padding.
    private static func base64(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
