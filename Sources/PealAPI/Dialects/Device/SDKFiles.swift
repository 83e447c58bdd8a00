internal import Crypto
internal import HTTPTypes
internal import PealCore
internal import PealShapes
internal import PealWebFiles

/// `/sdk/…`: the files of the SDK for web pages. A versioned name always has the same content; the plain name has the
/// newest.
enum SDKFiles {
    static let base = "/sdk"
    static let type = "text/javascript; charset=utf-8"

    struct File: Sendable {
        let path: String
        let bytes: [UInt8]
        /// Identifies the content.
        let tag: String
        let isVersioned: Bool
    }

    static let files: [File] = WebFiles.all.flatMap { name, bytes in
        let tag = "\"\(Hex.encode(Array(SHA256.hash(data: bytes).prefix(8))))\""
        return [
            File(path: "\(base)/\(name)-\(WebFiles.version).js", bytes: bytes, tag: tag, isVersioned: true),
            File(path: "\(base)/\(name).js", bytes: bytes, tag: tag, isVersioned: false),
        ]
    }

    static let endpoints: [Endpoint] = files.map { file in
        Endpoint(.get, file.path, .everybody) { answer(file, $0) }
    }

    private static func answer(_ file: File, _ call: Call) -> Answer {
        var answer = call.answer(file.bytes, type: type, tag: file.tag)
        answer.headers[.cacheControl] =
            file.isVersioned ? "public, max-age=31536000, immutable" : "public, max-age=3600"
        answer.headers[.xContentTypeOptions] = "nosniff"
        answer.headers[.crossOriginResourcePolicy] = "cross-origin"
        return answer
    }
}
