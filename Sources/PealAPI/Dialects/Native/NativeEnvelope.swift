internal import HTTPTypes
internal import PealCore

extension PealError {
    /// The native body of an error that is answered outside the API, such as at the door.
    package func nativeBody(requestID: String) -> [UInt8] {
        let document: JSON = ["error": NativeEnvelope.json(self, requestID: requestID)]
        return document.bytes
    }
}

/// `{"error":{"code","message","field","request_id","doc_url"}}`.
struct NativeEnvelope: Envelope {
    /// The error without the request that it answers.
    static func json(_ error: PealError) -> JSON { .compact(members(error)) }

    static func json(_ error: PealError, requestID: String) -> JSON {
        .compact(
            members(error) + [
                ("request_id", .string(requestID)), ("doc_url", .string(ErrorPage.url(of: error.code))),
            ])
    }

    private static func members(_ error: PealError) -> [(String, JSON?)] {
        [
            ("code", .string(error.code.rawValue)), ("message", .string(error.message)),
            ("field", error.field.map(JSON.string)),
        ]
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        answer(error, path: path, now: now, requestID: "")
    }

    func answer(_ error: PealError, path: String, now: Timestamp, requestID: String) -> Answer {
        var answer = Answer(
            HTTPResponse.Status(code: error.code.httpStatus), ["error": Self.json(error, requestID: requestID)])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Bearer realm=\"peal\"" }
        return answer
    }
}
