internal import HTTPTypes
internal import PealCore

/// The style sheet, the scripts and the icon. Their addresses contain a hash of all of them, so that browsers cache
/// them until they change.
struct ConsoleAssets: Sendable {
    private struct File: Sendable {
        let bytes: [UInt8]
        let type: String
    }

    private static let files: [String: File] = [
        "console.css": File(bytes: PackageResources.console_css, type: "text/css; charset=utf-8"),
        "console.js": File(bytes: PackageResources.console_js, type: "text/javascript; charset=utf-8"),
        "message.js": File(bytes: PackageResources.message_js, type: "text/javascript; charset=utf-8"),
        "compose.js": File(bytes: PackageResources.compose_js, type: "text/javascript; charset=utf-8"),
        "browser.js": File(bytes: PackageResources.browser_js, type: "text/javascript; charset=utf-8"),
        "import.js": File(bytes: PackageResources.import_js, type: "text/javascript; charset=utf-8"),
        "export.js": File(bytes: PackageResources.export_js, type: "text/javascript; charset=utf-8"),
        "worker.js": File(bytes: PackageResources.worker_js, type: "text/javascript; charset=utf-8"),
        "icon.svg": File(bytes: PackageResources.icon_svg, type: "image/svg+xml"),
    ]

    /// FNV-1a, which need not be secure: it only changes with the files.
    private static let version: String = {
        let hash = files.sorted { $0.key < $1.key }.flatMap(\.value.bytes).reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return String(hash, radix: 36)
    }()

    /// The address of a file.
    static func path(_ name: String) -> String { "/console/assets/\(version)/\(name)" }

    /// Answers `VERSION/NAME`. Another version gets the current file, which must not be cached.
    func answer(_ path: String, headers: HTTPFields) throws(PealError) -> ConsoleAnswer {
        let parts = path.split(separator: "/").map(String.init)
        guard let name = parts.last, parts.count <= 2, let file = Self.files[name] else { throw .notFound("file") }
        var answer = ConsoleAnswer(bytes: file.bytes, type: file.type)
        answer.headers[.cacheControl] =
            parts.first == Self.version ? "public, max-age=31536000, immutable" : "no-cache"
        // The worker controls all pages, although it is in a folder below them.
        if name == "worker.js" { answer.headers[.named("Service-Worker-Allowed")] = "/console/" }
        return answer
    }
}
