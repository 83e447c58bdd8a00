#if canImport(UserNotifications) && !os(tvOS)
    import Foundation
    public import UserNotifications

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A notification service extension that adds the image that a push names. Make the extension's principal class a
    /// subclass of it.
    ///
    /// If anything fails, the notification is shown without the image, and never later than iOS allows.
    open class ImageNotificationService: UNNotificationServiceExtension {
        private let current = CurrentHandover()

        override open func didReceive(
            _ request: UNNotificationRequest, withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) {
            guard let content = request.content.mutableCopy() as? UNMutableNotificationContent,
                let image = NotificationImage(userInfo: content.userInfo, fallback: request.identifier)
            else { return handler(request.content) }
            let handover = Handover(of: content, to: handler)
            guard current.begin(handover) else { return handover.end() }
            handover.fetch(image)
        }

        override open func serviceExtensionTimeWillExpire() { current.expire()?.end() }
    }

    /// The handover of a service, and whether its time is over. A subclass may begin on one thread while the system
    /// ends the time on another.
    ///
    /// `@unchecked Sendable`: mutable state is accessed only under `lock`.
    private final class CurrentHandover: @unchecked Sendable {
        private let lock = NSLock()
        private var handover: Handover?
        private var isOver = false

        /// Returns false if the time is over: then nothing may be fetched any more.
        func begin(_ handover: Handover) -> Bool {
            lock.withLock {
                self.handover = handover
                return !isOver
            }
        }

        /// The handover that must end now.
        func expire() -> Handover? {
            lock.withLock {
                isOver = true
                return handover
            }
        }
    }

    /// A notification's content on its way to the screen. The download and the timeout run on different threads; the
    /// first to finish delivers the content, once.
    ///
    /// `@unchecked Sendable`: mutable state is accessed only under `lock`, and the content only by the thread that took
    /// it.
    private final class Handover: @unchecked Sendable {
        private typealias Waiting = (content: UNMutableNotificationContent, handler: (UNNotificationContent) -> Void)

        /// Unlike the shared session, it has no cookies and no cache, by which the host of an image could recognize the
        /// device. All notifications of the process use it, because a session that is not invalidated stays in memory.
        private static let session = {
            let configuration = URLSessionConfiguration.ephemeral
            (configuration.httpCookieStorage, configuration.urlCache) = (nil, nil)
            return URLSession(configuration: configuration)
        }()

        private let lock = NSLock()
        private var waiting: Waiting?
        private var download: URLSessionDownloadTask?

        init(of content: UNMutableNotificationContent, to handler: @escaping (UNNotificationContent) -> Void) {
            waiting = (content, handler)
        }

        /// Downloads the image into a separate folder, from which iOS moves it.
        func fetch(_ image: NotificationImage) {
            let task = Self.session.downloadTask(with: image.url) { [self] file, response, _ in
                guard let file, let response = response as? HTTPURLResponse,
                    NotificationImage.isSuccess(status: response.statusCode)
                else { return finish(with: nil) }
                finish(with: try? Self.attachment(image, from: file))
            }
            lock.withLock { download = task }
            task.resume()
            // The time may have ended before there was a download to cancel.
            if lock.withLock({ waiting == nil }) { task.cancel() }
        }

        /// Cancels the download.
        func end() {
            lock.withLock { download }?.cancel()
            finish(with: nil)
        }

        private func finish(with attachment: UNNotificationAttachment?) {
            let taken = lock.withLock { () -> Waiting? in
                defer { waiting = nil }
                return waiting
            }
            guard let taken else { return }
            if let attachment { taken.content.attachments = [attachment] }
            taken.handler(taken.content)
        }

        private static func attachment(
            _ image: NotificationImage, from file: URL
        ) throws -> UNNotificationAttachment {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent(ProcessInfo.processInfo.globallyUniqueString, isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let target = folder.appendingPathComponent(image.fileName)
            try FileManager.default.moveItem(at: file, to: target)
            return try UNNotificationAttachment(identifier: image.fileName, url: target)
        }
    }
#endif
