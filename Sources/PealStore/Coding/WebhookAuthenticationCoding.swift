internal import PealCore

/// A webhook's authentication as the bytes that are sealed: JSON, its `type` telling the members.
enum WebhookAuthenticationCoding {
    static func encode(_ authentication: Webhook.Authentication) -> [UInt8] {
        JSON.compact([("type", .string(authentication.type))] + members(authentication)).bytes
    }

    private static func members(_ authentication: Webhook.Authentication) -> [(String, JSON?)] {
        switch authentication {
        case .basic(let username, let password): [("name", .string(username)), ("secret", .string(password))]
        case .bearer(let accessToken): [("secret", .string(accessToken))]
        case .header(let name, let value): [("name", .string(name)), ("secret", .string(value))]
        case .signature(let key): [("secret", .string(Base64URL.encode(key)))]
        case .secret(let secret): [("secret", .string(secret))]
        }
    }

    /// - Throws: when the bytes are not what `encode` made.
    static func decode(_ bytes: [UInt8]) throws -> Webhook.Authentication {
        guard let json = try? JSONParser.parse(bytes), let secret = json["secret"]?.stringValue else {
            throw PealError.damaged("a webhook")
        }
        switch (json["type"]?.stringValue, json["name"]?.stringValue) {
        case ("basic", let name?): return .basic(username: name, password: secret)
        case ("bearer", nil): return .bearer(accessToken: secret)
        case ("header", let name?): return .header(name: name, value: secret)
        case ("signature", nil):
            guard let key = Base64URL.decode(secret) else { throw PealError.damaged("a webhook") }
            return .signature(key: key)
        case ("secret", nil): return .secret(secret)
        default: throw PealError.damaged("a webhook")
        }
    }
}
