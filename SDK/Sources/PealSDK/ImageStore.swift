internal import Foundation
internal import PealDevice

/// Images of held messages, fetched when the message arrives, so that showing it needs no network. Conformers:
/// `ImageFolder`; none in tests.
protocol ImageStore: Sendable {
    /// Fetches an image. A failure only means that the notification has none.
    func fetch(_ url: String, for message: String) async
    func file(for message: String) -> URL?
    func remove(_ message: String)
    func removeAll()
}

/// Images in a folder.
struct ImageFolder: ImageStore {
    /// iOS takes images of at most 10 MB (UNNotificationAttachment, "Supported File Types").
    static let bytesMax = 10_000_000
    private static let life: TimeInterval = 9 * 86_400

    private let folder: URL
    private let exchange: any HTTPExchange

    init(folder: URL, exchange: any HTTPExchange) { (self.folder, self.exchange) = (folder, exchange) }

    func fetch(_ address: String, for message: String) async {
        guard let url = URL(string: address), url.scheme?.lowercased() == "https", file(for: message) == nil,
            let response = try? await exchange.send(HTTPRequest("GET", url)), (200...299).contains(response.status),
            !response.body.isEmpty, response.body.count <= Self.bytesMax
        else { return }
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        removeOld()
        try? response.body.write(to: path(message, Self.type(url, response)), options: .atomic)
    }

    func file(for message: String) -> URL? {
        ["jpg", "png", "gif"].map { path(message, $0) }.first { FileManager.default.fileExists(atPath: $0.path) }
    }

    func remove(_ message: String) {
        guard let file = file(for: message) else { return }
        try? FileManager.default.removeItem(at: file)
    }

    func removeAll() { try? FileManager.default.removeItem(at: folder) }

    /// Message ids are UUIDs; anything else must not become a path.
    private func path(_ message: String, _ type: String) -> URL {
        let name = message.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return folder.appendingPathComponent("\(name.isEmpty ? "image" : name).\(type)")
    }

    private static func type(_ url: URL, _ response: HTTPResponse) -> String {
        let type = response.headers["content-type"] ?? ""
        if type.contains("png") || url.pathExtension.lowercased() == "png" { return "png" }
        return type.contains("gif") || url.pathExtension.lowercased() == "gif" ? "gif" : "jpg"
    }

    /// Images of messages that were never shown.
    private func removeOld() {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey]
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys))
        for file in files ?? [] {
            let date = try? file.resourceValues(forKeys: keys).contentModificationDate
            if let date, -date.timeIntervalSinceNow > Self.life { try? FileManager.default.removeItem(at: file) }
        }
    }
}
