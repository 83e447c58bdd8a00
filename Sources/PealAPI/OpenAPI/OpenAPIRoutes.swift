internal import Crypto
internal import HTTPTypes
internal import PealCore
internal import Synchronization

/// `GET /openapi.json`. The first request builds the document; later ones get the same bytes.
final class OpenAPIRoutes: Sendable {
    private struct Served: Sendable {
        let bytes: [UInt8]
        let tag: String
    }

    private let options: APIOptions
    private let time: any TimeSource
    private let documented: [Endpoint]
    private let served = Mutex<Served?>(nil)

    /// - Parameter endpoints: all other endpoints of the server.
    init(options: APIOptions, time: any TimeSource, endpoints: [Endpoint]) {
        self.options = options
        self.time = time
        documented = endpoints
    }

    var all: [Endpoint] { [Endpoint(.get, "/openapi.json", .everybody, get)] }

    /// The document of all endpoints, including this one.
    var document: APIDocument {
        APIDocument(
            version: options.version, endpoints: documented + all,
            dialects: APIDocument.dialects(at: time.now, options))
    }

    @Sendable private func get(_ call: Call) -> Answer {
        let document = bytes()
        var answer = call.answer(document.bytes, type: Answer.jsonType, tag: document.tag)
        answer.headers[.cacheControl] = "no-cache"
        return answer
    }

    private func bytes() -> Served {
        served.withLock { kept in
            if let kept { return kept }
            let bytes = document.json.bytes
            let digest = Hex.encode(Array(SHA256.hash(data: bytes).prefix(8)))
            let made = Served(bytes: bytes, tag: "\"\(digest)\"")
            kept = made
            return made
        }
    }
}
