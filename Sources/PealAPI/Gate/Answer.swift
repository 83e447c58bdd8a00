internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import PealCore

/// What a handler returns: status, headers and body.
struct Answer: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields = [:]
    var body: [UInt8]
    /// A body that is written while it is sent, in place of `body`.
    var stream: ResponseBody?
    /// The memory of a long answer, until the client has read it.
    private var hold: BodyHold?

    static let jsonType = "application/json; charset=utf-8"

    init(_ status: HTTPResponse.Status, _ json: JSON) {
        self.status = status
        body = json.bytes
        headers[.contentType] = Self.jsonType
    }

    /// Without a body.
    init(_ status: HTTPResponse.Status) {
        self.status = status
        body = []
    }

    init(text: String, type: String) {
        status = .ok
        body = Array(text.utf8)
        headers[.contentType] = type
    }

    /// A document that is already written.
    init(_ status: HTTPResponse.Status, bytes: [UInt8], type: String) {
        self.status = status
        body = bytes
        headers[.contentType] = type
    }

    /// Writes a body piece by piece. Writing throws when the client has disconnected.
    typealias Stream = @Sendable (_ write: (String) async throws -> Void) async throws -> Void

    /// An answer whose body is written while the client reads it.
    init(streaming stream: @escaping Stream, type: String) {
        self.init(.ok)
        headers[.contentType] = type
        self.stream = Self.body(stream)
    }

    init(_ reply: Reply) {
        status = HTTPResponse.Status(code: reply.status)
        body = reply.body
        headers[.contentType] = Self.jsonType
        if reply.isReplay { headers[.idempotentReplayed] = "true" }
    }

    /// Warns the caller about accepted but unusual parts of the request (RFC 7234 §5.5). The texts must not contain
    /// anything from the request except paths.
    mutating func warn(_ texts: [String]) {
        guard !texts.isEmpty else { return }
        headers[.warning] = texts.prefix(Self.warningsMax).map { "299 - \"\($0)\"" }.joined(separator: ", ")
    }

    private static let warningsMax = 8

    /// A long answer takes memory until the client has read it.
    /// - Throws: as `BodyHold.takeAnswer`.
    mutating func count(in hold: BodyHold, changesNothing: Bool) throws(PealError) {
        guard stream == nil, body.count > BodyHold.pieceBytes else { return }
        try hold.takeAnswer(body.count, changesNothing: changesNothing)
        self.hold = hold
    }

    /// - Parameter isHead: sends the length of the body without the body; no length for a stream.
    func response(isHead: Bool) -> Response {
        var headers = headers
        if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
        let response = Response(status: status, headers: headers, body: stream ?? written)
        guard isHead else { return response }
        let nothing = ResponseBody { writer in try await writer.finish(nil) }
        return Response(status: status, headers: response.headers, body: nothing)
    }

    private var written: ResponseBody {
        let buffer = ByteBuffer(bytes: body)
        guard body.count > BodyHold.pieceBytes else {
            return body.isEmpty ? ResponseBody() : ResponseBody(byteBuffer: buffer)
        }
        return ResponseBody(contentLength: body.count) { [hold] writer in
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

    private static func body(_ stream: @escaping Stream) -> ResponseBody {
        ResponseBody { writer in
            // The closure of a stream cannot change what it captures.
            let held = HeldWriter(writer)
            // Composing a piece may block the event loop for too long.
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await stream { try await held.writer.write(ByteBuffer(string: $0)) }
            }
            try await held.writer.finish(nil)
        }
    }

    private final class HeldWriter {
        var writer: any ResponseBodyWriter

        init(_ writer: any ResponseBodyWriter) { self.writer = writer }
    }
}

/// Cross-origin requests (Fetch, CORS protocol) without credentials.
extension Answer {
    /// The answer to a CORS preflight request.
    static let preflight: Answer = {
        var answer = Answer(.noContent)
        answer.headers[.accessControlAllowMethods] = "GET, POST, PUT, DELETE"
        answer.headers[.accessControlAllowHeaders] = "authorization, content-type"
        answer.headers[.accessControlMaxAge] = "86400"
        return answer
    }()

    mutating func allowAllOrigins() {
        headers[.accessControlAllowOrigin] = "*"
        headers[.accessControlExposeHeaders] = "Retry-After"
    }
}

extension HTTPField.Name {
    static let idempotencyKey = HTTPField.Name("Idempotency-Key") ?? .date
    static let idempotentReplayed = HTTPField.Name("Idempotent-Replayed") ?? .date
    static let requestID = HTTPField.Name("X-Request-Id") ?? .date
    static let warning = HTTPField.Name("Warning") ?? .date
}
