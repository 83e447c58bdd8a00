#if canImport(UserNotifications) && !os(tvOS)
    internal import Foundation
    internal import PealDevice
    public import PealNotifications
    internal import PealWire
    public import UserNotifications

    /// A service extension that shows every message once and reports its receipt. It also attaches images, as
    /// `ImageNotificationService` does. Make the extension's principal class a subclass of it and name the app group
    /// that the extension shares with the app:
    ///
    /// ```swift
    /// nonisolated final class NotificationService: PealNotificationService {
    ///     override var group: String { "group.com.example.cheese" }
    /// }
    /// ```
    ///
    /// Even if something fails, the notification is shown, and never later than iOS allows.
    open class PealNotificationService: ImageNotificationService {
        /// The app group.
        open var group: String { "" }

        /// One for all notifications of the process: a session that is not invalidated stays in memory, of which an
        /// extension has little. The person waits for the notification meanwhile; the app sends later what could not be
        /// sent.
        private static let exchange = URLSessionExchange(timeoutSeconds: 4, bytesMax: 256 * 1024)

        private var receipt: Task<Void, Never>?

        override open func didReceive(
            _ request: UNNotificationRequest, withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) {
            guard let folder = DeviceFolder.shared(group: group) else {
                return super.didReceive(request, withContentHandler: handler)
            }
            let state = SharedFile(url: DeviceFolder.ledger(in: folder), initial: { Ledger() })
            // Before anything else: from then on, the app relies on the extension to recognize repeated alerts.
            try? state.update { $0.markExtension() }
            guard
                let id = MessageReference.messageID(
                    in: request.content.userInfo, identifier: request.identifier),
                let server = (try? state.read())?.server.flatMap(URL.init(string:))
            else { return super.didReceive(request, withContentHandler: handler) }
            let receiver = AlertReceiver(
                state: state, presenter: DeliveredNotifications(),
                api: HTTPDeviceAPI(server: server, key: "", exchange: Self.exchange),
                clock: SystemClock(),
                makeID: { UUID().uuidString.lowercased() },
                pause: { try? await Task.sleep(nanoseconds: UInt64($0) * 1_000_000) })
            let handover = AlertHandover(service: self, request: request, handler: handler)
            // The system calls this method without awaiting it, and ends the process when the handler was called.
            receipt = Task {
                await receiver.receive(id) { await handover.prepare($0) }
                handover.present()
            }
        }

        override open func serviceExtensionTimeWillExpire() {
            receipt?.cancel()
            super.serviceExtensionTimeWillExpire()
        }

        /// Adds the image, as the superclass does.
        fileprivate func addImage(
            to request: UNNotificationRequest, _ handler: @escaping (UNNotificationContent) -> Void
        ) {
            super.didReceive(request, withContentHandler: handler)
        }
    }

    /// The notification on its way from the ledger to the screen.
    ///
    /// `@unchecked Sendable`: the system hands it over once, and only the one task of the service touches it. The image
    /// arrives on another thread while that task waits for it.
    private final class AlertHandover: @unchecked Sendable {
        private let service: PealNotificationService
        private let request: UNNotificationRequest
        private let handler: (UNNotificationContent) -> Void
        private var content: UNNotificationContent

        init(
            service: PealNotificationService, request: UNNotificationRequest,
            handler: @escaping (UNNotificationContent) -> Void
        ) {
            (self.service, self.request, self.handler) = (service, request, handler)
            content = request.content
        }

        func prepare(_ verdict: AlertVerdict) async {
            if verdict == .silence { silence() } else { await addImage() }
        }

        /// An extension cannot drop an alert without a permission of Apple's, but it can take its sound away.
        private func silence() {
            guard let silent = request.content.mutableCopy() as? UNMutableNotificationContent else { return }
            silent.sound = nil
            silent.interruptionLevel = .passive
            content = silent
        }

        private func addImage() async {
            await withCheckedContinuation { continuation in
                service.addImage(to: request) { [self] content in
                    self.content = content
                    continuation.resume()
                }
            }
        }

        func present() { handler(content) }
    }

    /// What the extension asks the notification centre.
    private struct DeliveredNotifications: NotificationPresenter {
        func contains(_ id: String) async -> Bool {
            await UNUserNotificationCenter.current().deliveredNotifications().contains { $0.request.identifier == id }
        }

        func add(_ notification: LocalNotification) async throws {}
        func permission() async -> NotificationPermission { NotificationPermission(allowsAlerts: true) }
        func register(_ categories: [NotificationCategory]) async {}
    }
#endif
