internal import PealCore

/// Reads `{url, kind, authentication}` into what the webhook verbs take.
enum WebhookReader {
    /// - Parameter name: from the path.
    static func draft(_ body: JSON, name: String, app: AppKey) throws(PealError) -> WebhookVerbs.Draft {
        let fields = try Fields(body)
        let url = try fields.requiredText("url", charactersMax: Limits.webhookURLBytesMax)
        guard let kind: Webhook.Kind = try fields.choice("kind") else { throw .missing("kind") }
        let authentication = try authentication(try fields.requiredObject("authentication"))
        if case .secret = authentication, kind != .contextpush {
            throw .invalid("authentication.type", "secret is ContextPush's; give basic, bearer, header or signature")
        }
        return WebhookVerbs.Draft(app: app, name: name, url: url, kind: kind, authentication: authentication)
    }

    private static func authentication(_ fields: Fields) throws(PealError) -> Webhook.Authentication {
        switch try fields.requiredText("type") {
        case "basic":
            let username = try fields.requiredText("username")
            guard !username.contains(":") else {
                // RFC 7617 §2: the first colon ends the user name.
                throw .invalid(fields.path("username"), "username must not hold a colon")
            }
            let password = try fields.requiredText("password", charactersMax: Limits.webhookSecretBytesMax)
            return .basic(username: username, password: password)
        case "bearer": return .bearer(accessToken: try headerText(fields, "token", allowsBlanks: false))
        case "header":
            return .header(name: try headerName(fields), value: try headerText(fields, "value", allowsBlanks: true))
        case "signature": return .signature(key: try signingKey(fields))
        case "secret": return .secret(try headerText(fields, "secret", allowsBlanks: true))
        default:
            throw .invalid(fields.path("type"), "type must be one of basic, bearer, header, signature, secret")
        }
    }

    /// A text that stands in a header as it is: printable ASCII (RFC 9110 §5.5), no blanks around it.
    private static func headerText(
        _ fields: Fields, _ name: String, allowsBlanks: Bool
    ) throws(PealError) -> String {
        let text = try fields.requiredText(name, charactersMax: Limits.webhookSecretBytesMax)
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F || allowsBlanks && $0 == 0x20 }
        guard isPlain, text.utf8.first != 0x20, text.utf8.last != 0x20 else {
            throw .invalid(fields.path(name), "\(name) must be printable ASCII that can stand in a header")
        }
        return text
    }

    /// What a request is framed by, and what Peal says itself.
    private static let reservedNames: Set<String> = [
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "upgrade",
        "te", "trailer", "expect", "keep-alive", "proxy-authorization", "webhook-id", "webhook-timestamp",
        "webhook-signature", "x-ctx-event-type", "x-idempotency-key",
    ]

    private static func headerName(_ fields: Fields) throws(PealError) -> String {
        let name = try fields.requiredText("name")
        // `tchar` of RFC 9110 §5.6.2.
        let isName = name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        guard isName, !reservedNames.contains(name.lowercased()) else {
            throw .invalid(fields.path("name"), "name must be the name of a header that Peal does not set itself")
        }
        return name
    }

    /// `whsec_` and base64, as Standard Webhooks writes keys, or the base64 alone.
    private static func signingKey(_ fields: Fields) throws(PealError) -> [UInt8] {
        let text = try fields.requiredText("secret", charactersMax: Limits.webhookSecretBytesMax)
        let range = Limits.webhookSigningKeyBytesMin...Limits.webhookSigningKeyBytesMax
        guard let key = Base64URL.decode(text.trimmingPrefix("whsec_")), range.contains(key.count) else {
            throw .invalid(
                fields.path("secret"),
                "secret must be whsec_ and base64 of \(range.lowerBound) to \(range.upperBound) bytes")
        }
        return key
    }
}
