#if canImport(UserNotifications) && !os(tvOS)
    import Foundation
    public import UserNotifications

    /// A service extension that shows pushes with the image they name. Make the extension's principal class a subclass
    /// of it, or call `attachImage` from your own.
    ///
    /// Whatever goes wrong, the notification is shown: without the image, and never later than iOS allows.
    open class ImageNotificationService: UNNotificationServiceExtension {
        /// What is shown if time runs out.
        private var shown: (content: UNMutableNotificationContent, handler: (UNNotificationContent) -> Void)?
        private var download: URLSessionDownloadTask?

        override open func didReceive(
            _ request: UNNotificationRequest, withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) {
            guard let content = request.content.mutableCopy() as? UNMutableNotificationContent,
                let image = NotificationImage(userInfo: content.userInfo)
            else { return handler(request.content) }
            shown = (content, handler)
            download = Self.download(image) { [weak self] attachment in
                if let attachment { content.attachments = [attachment] }
                self?.finish()
            }
        }

        override open func serviceExtensionTimeWillExpire() {
            download?.cancel()
            finish()
        }

        /// Hands the content over, once.
        private func finish() {
            guard let (content, handler) = shown else { return }
            shown = nil
            handler(content)
        }

        /// Fetches the image into a folder of its own, from which iOS takes it.
        private static func download(
            _ image: NotificationImage, completion: @escaping (UNNotificationAttachment?) -> Void
        ) -> URLSessionDownloadTask {
            let task = URLSession.shared.downloadTask(with: image.url) { file, response, _ in
                guard let file, let response = response as? HTTPURLResponse,
                    NotificationImage.isSuccess(status: response.statusCode)
                else { return completion(nil) }
                completion(try? attachment(image, from: file))
            }
            task.resume()
            return task
        }

        private static func attachment(
            _ image: NotificationImage, from file: URL
        ) throws -> UNNotificationAttachment {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent(ProcessInfo.processInfo.globallyUniqueString, isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let target = folder.appendingPathComponent(image.fileName)
            try FileManager.default.moveItem(at: file, to: target)
            return try UNNotificationAttachment(identifier: image.identifier, url: target)
        }
    }
#endif
