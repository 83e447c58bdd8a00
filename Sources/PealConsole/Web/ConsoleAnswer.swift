internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import PealCore

/// The answer of a page: status, headers and body.
package struct ConsoleAnswer: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields = [:]
    var body: ResponseBody
    /// The body if it is written already.
    private var bytes: [UInt8] = []

    init(_ status: Int = 200, page: HTML) {
        self.init(HTTPResponse.Status(code: status), text: page.text, type: "text/html; charset=utf-8")
    }

    init(_ status: HTTPResponse.Status = .ok, text: String, type: String) {
        self.init(status, bytes: Array(text.utf8), type: type)
    }

    init(_ status: HTTPResponse.Status = .ok, bytes: [UInt8], type: String) {
        self.status = status
        body = Self.body(ByteBuffer(bytes: bytes), nil)
        self.bytes = bytes
        headers[.contentType] = type
    }

    /// A body that `write` produces; server-sent events unless it says otherwise.
    init(
        type: String = "text/event-stream",
        events write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) {
        status = .ok
        body = ResponseBody(write)
        headers[.contentType] = type
    }

    /// Redirects the browser to a page, which it requests with GET.
    init(redirect path: String) {
        status = .seeOther
        body = ResponseBody()
        headers[.location] = path
    }

    /// A long page takes memory until the browser has read it.
    /// - Throws: as `BodyHold.takeAnswer`.
    mutating func count(in hold: BodyHold, changesNothing: Bool) throws(PealError) {
        guard bytes.count > BodyHold.pieceBytes else { return }
        try hold.takeAnswer(bytes.count, changesNothing: changesNothing)
        body = Self.body(ByteBuffer(bytes: bytes), hold)
    }

    private static func body(_ buffer: ByteBuffer, _ hold: BodyHold?) -> ResponseBody {
        guard buffer.readableBytes > BodyHold.pieceBytes else { return ResponseBody(byteBuffer: buffer) }
        return ResponseBody(contentLength: buffer.readableBytes) { writer in
            var rest = buffer
            while rest.readableBytes > 0,
                let piece = rest.readSlice(length: min(BodyHold.pieceBytes, rest.readableBytes))
            {
                try await writer.write(piece)
            }
            withExtendedLifetime(hold) {}
            try await writer.finish(nil)
        }
    }

    mutating func setCookie(_ value: String) {
        headers.append(HTTPField(name: .setCookie, value: value))
    }

    /// - Parameter isHead: sends the length of the body without the body; no length for a body that is produced.
    package func response(isHead: Bool) -> Response {
        var headers = headers
        for (name, value) in Self.protection where headers[name] == nil { headers[name] = value }
        let response = Response(status: status, headers: headers, body: body)
        guard isHead else { return response }
        let nothing = ResponseBody { writer in try await writer.finish(nil) }
        return Response(status: status, headers: response.headers, body: nothing)
    }

    /// Allows only the console's own files: no inline code, no frames, no referrer, no caching.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private static let protection: [(HTTPField.Name, String)] = [
        (.contentSecurityPolicy, policy), (.xContentTypeOptions, "nosniff"), (.cacheControl, "no-store"),
        (.named("Referrer-Policy"), "same-origin"), (.named("Cross-Origin-Opener-Policy"), "same-origin"),
        (.named("Cross-Origin-Resource-Policy"), "same-origin"), (.named("X-Frame-Options"), "DENY"),
        (.named("Permissions-Policy"), "camera=(), microphone=(), geolocation=()"),
    ]
}

extension HTTPField.Name {
    /// A name that is known to be valid.
    static func named(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .date }
}
