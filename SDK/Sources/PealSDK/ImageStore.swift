internal import Foundation
internal import PealDevice

/// Images of held messages, fetched at the wake at which the message arrives, or at a later one, so that showing it
/// needs no network. Conformers: `ImageFolder`; simulated ones in tests.
protocol ImageStore: Sendable {
    /// Fetches an image. A failure only means that the notification has none.
    func fetch(_ url: String, for message: String) async
    func file(for message: String) -> URL?
    func remove(_ message: String)
    /// Removes the images of all other messages.
    func keep(only messages: Set<String>)
    func removeAll()
}

/// Images in a folder.
struct ImageFolder: ImageStore {
    /// iOS takes images of at most 10 MB (UNNotificationAttachment, "Supported File Types").
    static let bytesMax = 10_000_000

    private let folder: URL
    private let exchange: any HTTPExchange

    init(folder: URL, exchange: any HTTPExchange) { (self.folder, self.exchange) = (folder, exchange) }

    func fetch(_ address: String, for message: String) async {
        guard let url = URL(string: address), url.scheme?.lowercased() == "https", file(for: message) == nil,
            let response = try? await exchange.send(HTTPRequest("GET", url)), (200...299).contains(response.status),
            !response.body.isEmpty, response.body.count <= Self.bytesMax
        else { return }
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("\(Self.name(message)).\(Self.type(url, response))")
        try? response.body.write(to: file, options: .atomic)
    }

    func file(for message: String) -> URL? {
        ["jpg", "png", "gif"].map { folder.appendingPathComponent("\(Self.name(message)).\($0)") }
            .first { FileManager.default.fileExists(atPath: $0.path) }
    }

    func remove(_ message: String) {
        guard let file = file(for: message) else { return }
        try? FileManager.default.removeItem(at: file)
    }

    /// Works without the dates of files, whose use Apple wants explained in the privacy manifest.
    func keep(only messages: Set<String>) {
        let kept = Set(messages.map(Self.name))
        for file in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let url = folder.appendingPathComponent(file)
            guard !kept.contains(url.deletingPathExtension().lastPathComponent) else { continue }
            try? FileManager.default.removeItem(at: url)
        }
    }

    func removeAll() { try? FileManager.default.removeItem(at: folder) }

    /// Message ids are UUIDs; anything else must not become a path.
    private static func name(_ message: String) -> String {
        let name = message.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return name.isEmpty ? "image" : name
    }

    private static func type(_ url: URL, _ response: HTTPResponse) -> String {
        let type = response.headers["content-type"] ?? ""
        if type.contains("png") || url.pathExtension.lowercased() == "png" { return "png" }
        return type.contains("gif") || url.pathExtension.lowercased() == "gif" ? "gif" : "jpg"
    }
}
