public import Foundation

/// The image that a push asks to be shown with: receives a notification's `userInfo`, tells where the image is, by what
/// name it is known and how its file is to be called. Pure, so that it is tested without a phone.
public struct NotificationImage: Sendable, Hashable {
    /// Key of the image's address in `userInfo`.
    public static let urlKey = "ctx_image_url"
    /// Key of the notification's own name in `userInfo`.
    public static let identifierKey = "ctx_idempotency_key"

    /// File types that iOS takes as image attachments (UNNotificationAttachment, "Supported File Types").
    private static let fileTypes: Set<String> = ["jpg", "jpeg", "png", "gif"]
    /// Of the name before the type; file systems take 255.
    private static let fileNameBytesMax = 120

    /// http or https.
    public let url: URL
    /// As the server sent it.
    public let identifier: String

    /// - Parameter userInfo: as in `UNNotificationContent.userInfo`. nil when it asks for no image, or for one that
    ///   cannot be fetched.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let text = userInfo[Self.urlKey] as? String, let identifier = userInfo[Self.identifierKey] as? String,
            !identifier.isEmpty, let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            ["https", "http"].contains(scheme), url.host?.isEmpty == false
        else { return nil }
        self.url = url
        self.identifier = identifier
    }

    /// What the attachment and its file are called: the identifier, without what a file system would take amiss, and
    /// the type of the address; `jpg` where that tells none, because iOS goes by the name.
    public var fileName: String {
        var name = ""
        for character in identifier.drop(while: { $0 == "." }) {
            let isSafe = character.isLetter || character.isNumber || "-_.".contains(character)
            let next = isSafe ? String(character) : "_"
            guard name.utf8.count + next.utf8.count <= Self.fileNameBytesMax else { break }
            name += next
        }
        let type = url.pathExtension.lowercased()
        return "\(name.isEmpty ? "image" : name).\(Self.fileTypes.contains(type) ? type : "jpg")"
    }

    /// Whether an answer to the download holds the image.
    public static func isSuccess(status: Int) -> Bool { (200...299).contains(status) }
}
