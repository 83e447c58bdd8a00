public import Foundation

/// The image that a push names: receives a notification's `userInfo` and returns the image's URL, the notification's
/// identifier and the name of the image's file. Pure, so that it can be tested without a phone.
public struct NotificationImage: Sendable, Hashable {
    /// Key of the image's URL in `userInfo`.
    public static let urlKey = "ctx_image_url"
    /// Key of the notification's identifier in `userInfo`.
    public static let identifierKey = "ctx_idempotency_key"

    /// File types that iOS accepts as image attachments (UNNotificationAttachment, "Supported File Types").
    private static let fileTypes: Set<String> = ["jpg", "jpeg", "png", "gif"]
    /// Maximum length of the name before the extension; file systems allow 255.
    private static let fileNameBytesMax = 120

    /// http or https.
    public let url: URL
    /// As the server sent it.
    public let identifier: String

    /// Returns nil if the push names no image, or one that cannot be downloaded.
    /// - Parameters:
    ///   - userInfo: as in `UNNotificationContent.userInfo`.
    ///   - fallback: the identifier of a push that has none, such as `UNNotificationRequest.identifier`.
    public init?(userInfo: [AnyHashable: Any], fallback: String? = nil) {
        guard let text = userInfo[Self.urlKey] as? String,
            let identifier = userInfo[Self.identifierKey] as? String ?? fallback, !identifier.isEmpty,
            let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            ["https", "http"].contains(scheme), url.host?.isEmpty == false
        else { return nil }
        self.url = url
        self.identifier = identifier
    }

    /// The name of the attachment and its file: the identifier without characters that file systems may refuse, and the
    /// URL's extension, or `jpg` if it has none that iOS accepts, because iOS determines the type from the name.
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

    /// Whether a response with that status contains the image.
    public static func isSuccess(status: Int) -> Bool { (200...299).contains(status) }
}
