internal import HTTPTypes
internal import PealCore
internal import PealShapes
internal import PealWebFiles

/// `GET /docs/errors`: what each error code means and what to do, for people who follow a `doc_url`. Generated from the
/// table in `docs/errors.md`.
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
        let lines = String(decoding: WebFiles.errors, as: UTF8.self).split(separator: "\n")
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>Errors of Peal</title></head>
            <body><main><h1>Errors</h1>
            \(lines.compactMap(section).joined())</main></body></html>

            """
    }()

    /// A row of the table, ``| `code` | status | <a id="code"></a>meaning | what to do |``; nil for any other line.
    private static func section(_ line: Substring) -> String? {
        let cells = line.split(separator: "|").map { String($0).trimmedBlanks }
        guard cells.count == 4, let code = PealError.Code(rawValue: cells[0].replacing("`", with: "")) else {
            return nil
        }
        let meaning = cells[2].split(separator: "</a>").last ?? ""
        return """
            <h2 id="\(code.rawValue)"><code>\(code.rawValue)</code> (\(code.httpStatus))</h2>
            <p>\(html(String(meaning)))</p>
            <p>\(html(cells[3]))</p>

            """
    }

    /// Escapes the text, and turns text between backticks into code.
    private static func html(_ text: String) -> String {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return escaped.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
            index % 2 == 1 ? "<code>\(part)</code>" : String(part)
        }.joined()
    }

    static let operation = APIOperation(
        id: "errors", method: .get, path: path, summary: "What each error code means",
        answers: [APIAnswer(200, "A page for people.", .text, mediaType: "text/html")])
}
