import Foundation

// Stubs of Apple's framework as far as a notification service extension uses it: enough to compile and run one.

open class UNNotificationContent: NSObject {
    open var userInfo: [AnyHashable: Any] = [:]
    open var attachments: [UNNotificationAttachment] = []

    override open func mutableCopy() -> Any {
        let copy = UNMutableNotificationContent()
        copy.userInfo = userInfo
        return copy
    }
}

open class UNMutableNotificationContent: UNNotificationContent {}

open class UNNotificationRequest: NSObject {
    public let identifier: String
    public let content: UNNotificationContent

    public init(identifier: String, content: UNNotificationContent) {
        self.identifier = identifier
        self.content = content
    }
}

open class UNNotificationAttachment: NSObject {
    public let identifier: String
    public let url: URL

    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {
        // Apple's takes the file over, so it must be there.
        _ = try Data(contentsOf: url)
        self.identifier = identifier
        self.url = url
    }
}

open class UNNotificationServiceExtension: NSObject {
    override public init() {}

    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}

    open func serviceExtensionTimeWillExpire() {}
}
