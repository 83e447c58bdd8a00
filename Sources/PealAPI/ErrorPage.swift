internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `GET /docs/errors`: what each error code means and what to do, for people who follow a `doc_url`. The texts are
/// those of `docs/errors.md`.
enum ErrorPage {
    static let path = "/docs/errors"

    static func url(of code: PealError.Code) -> String { "\(path)#\(code.rawValue)" }

    static let endpoint = Endpoint(.get, path, .everybody) { _ in
        var answer = Answer(text: text, type: "text/html; charset=utf-8")
        answer.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        answer.headers[.xContentTypeOptions] = "nosniff"
        return answer
    }

    private static let text: String = {
        let items = PealError.Code.allCases.map { code in
            let (meaning, remedy) = explanation(of: code)
            return """
                <h2 id="\(code.rawValue)"><code>\(code.rawValue)</code> (\(code.httpStatus))</h2>
                <p>\(html(meaning))</p>
                <p>\(html(remedy))</p>

                """
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Errors of Peal</title></head>
            <body><main><h1>Errors</h1>
            \(items.joined())</main></body></html>

            """
    }()

    /// Escapes the text, and turns pairs of backticks into code.
    private static func html(_ text: String) -> String {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return escaped.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
            index % 2 == 1 ? "<code>\(part)</code>" : String(part)
        }.joined()
    }

    static let operation = APIOperation(
        id: "errors", method: .get, path: path, summary: "What each error code means",
        answers: [APIAnswer(200, "A page for people.", .text, mediaType: "text/html")])

    /// What a code means, and what to do.
    static func explanation(of code: PealError.Code) -> (meaning: String, remedy: String) {
        switch code {
        case .invalidJSON:
            (
                "The body is not JSON, not an object, or nested more than 64 levels deep. The message "
                    + "gives line and column.",
                "Fix the body."
            )
        case .invalidField:
            (
                "A field has the wrong type, is out of range, or contradicts another field.",
                "Fix the named field."
            )
        case .missingField:
            (
                "A required field is missing or null, or an audience is empty.",
                "Add the named field."
            )
        case .unknownField:
            (
                "The native API does not know this member of the body or this query parameter. The "
                    + "message names one that is spelled alike. The other APIs ignore what they do not know.",
                "Correct or remove the named field."
            )
        case .notSupported:
            (
                "The field, value or path is documented but not implemented in this version. ContextPush "
                    + "answers 422 for an unsupported `platform`.",
                "Remove it, or use a later version. Peal never ignores such a field silently."
            )
        case .unauthorized:
            (
                "The key is missing, wrong, expired or revoked.",
                "Send a valid key in the scheme that `WWW-Authenticate` names."
            )
        case .forbidden:
            (
                "The key is valid but lacks the scope, belongs to another app, or is for another API.",
                "Use another key."
            )
        case .notFound:
            (
                "Nothing exists at this path, or no object has this id.",
                "Check the path and the id."
            )
        case .methodNotAllowed:
            (
                "The path does not support this method. `Allow` lists the supported ones.",
                "Use one of them."
            )
        case .conflict:
            (
                "The object's state does not allow the request: a message has started, an id or key is "
                    + "taken (also an app's `richie_app_id` or `devtodev_app_id`), the app has no APNs "
                    + "credential for channels, a webhook delivery was already delivered or its webhook is "
                    + "disabled; or a request with the same `Idempotency-Key` is still running; `Retry-After` "
                    + "says when to repeat it.",
                "Check the object, or repeat later."
            )
        case .idempotencyMismatch:
            (
                "The `Idempotency-Key` was used within the last 24 hours with another body.",
                "Use a new key for a new request."
            )
        case .bodyTooLarge:
            (
                "The body, decoded, exceeds the server's limit (4 MiB by default), or holds more than "
                    + "200,000 JSON values.",
                "Split the request."
            )
        case .payloadTooLarge:
            (
                "A notification would exceed its push network's limit (APNs: 4,096 bytes). The named "
                    + "field contributes most. Pivotal and ContextPush answer 400.",
                "Shorten that field."
            )
        case .unsupportedMediaType:
            (
                "`Content-Type` is not JSON, or `Content-Encoding` is not `gzip`. The native API also "
                    + "refuses a body without `Content-Type`.",
                "Send `Content-Type: application/json`, and the body as it is or with gzip."
            )
        case .rateLimited:
            (
                "Too many writes or receipts are queued; or too many requests were made with this key or "
                    + "for this app, or too many streams are open; or authentication failed too often for this "
                    + "client address or key.",
                "Repeat after `Retry-After` seconds."
            )
        case .unavailable:
            (
                "The store does not answer, and the request may or may not have taken effect; or the "
                    + "server has too many connections or large bodies.",
                "Repeat with the same `Idempotency-Key`."
            )
        case .internal:
            (
                "The server failed. The message contains the request id to search for in the log.",
                "Report it."
            )
        }
    }
}
