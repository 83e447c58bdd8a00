import Foundation
import UserNotifications

/// Passes one push to the extension, and prints what it delivers and how often: `push JSON-of-userInfo [seconds]`. The
/// time ends after so many seconds; below zero, before the push.
func run() throws {
    let arguments = CommandLine.arguments
    let content = UNNotificationContent()
    content.userInfo = try JSONSerialization.jsonObject(with: Data(arguments[1].utf8)) as? [String: Any] ?? [:]
    let service = ImageNotificationService()
    let shown = DispatchSemaphore(value: 0)
    let end = arguments.count > 2 ? Double(arguments[2]) : nil
    if let end, end < 0 { service.serviceExtensionTimeWillExpire() }
    service.didReceive(UNNotificationRequest(identifier: "request-1", content: content)) { content in
        let attachments = content.attachments.map { "\($0.identifier) \($0.url.lastPathComponent)" }
        print("shown", attachments.joined(separator: ", "), separator: " ")
        shown.signal()
    }
    if let end, end >= 0 {
        Thread.sleep(forTimeInterval: end)
        service.serviceExtensionTimeWillExpire()
    }
    shown.wait()
    // A second time would come by now.
    Thread.sleep(forTimeInterval: 0.5)
}

try run()
