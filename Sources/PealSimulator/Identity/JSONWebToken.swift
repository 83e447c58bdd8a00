import Foundation

/// A signed JWT, taken apart (RFC 7515 §7.1). Nothing is verified here.
struct JSONWebToken: Sendable {
    let header: JSONValue
    let claims: JSONValue
    let signature: [UInt8]
    /// What the signature is for: header and claims as they came.
    let signed: [UInt8]

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap({ JSONValue(bytes: $0) }),
            let claims = Base64URL.decode(parts[1]).flatMap({ JSONValue(bytes: $0) }),
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = Array(signature)
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }
}
