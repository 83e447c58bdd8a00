#if canImport(UserNotifications) && !os(tvOS)
    public import PealWire
    public import UserNotifications

    extension Push {
        /// The payload of a notification.
        public init(_ notification: UNNotification) {
            let request = notification.request
            self.init(
                request.content.userInfo, identifier: request.identifier,
                isLocal: !(request.trigger is UNPushNotificationTrigger))
        }
    }

    extension NotificationResponse {
        /// What the person did, as the system reports it.
        public init(_ response: UNNotificationResponse) {
            switch response.actionIdentifier {
            case UNNotificationDefaultActionIdentifier: self = .opened
            case UNNotificationDismissActionIdentifier: self = .dismissed
            default: self = .button(response.actionIdentifier)
            }
        }
    }

    // The delegate's methods with completion handlers: UIKit expects the handlers to be called on the main thread, and
    // the asynchronous methods return on another one if they are not isolated to the main actor.
    extension Peal {
        /// Decides how a notification that arrives while the app is open is presented: call it in
        /// `userNotificationCenter(_:willPresent:withCompletionHandler:)`.
        /// - Parameters:
        ///   - notification: as the system passes it.
        ///   - options: how to present a notification, unless it has alerted the person already.
        ///   - completionHandler: the system's; called on the main thread.
        public nonisolated func willPresent(
            _ notification: UNNotification,
            as options: UNNotificationPresentationOptions = [.banner, .list, .sound, .badge],
            completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
        ) {
            let push = Push(notification)
            let handler = MainHandler(completionHandler)
            // The system calls its delegate without awaiting it.
            Task { await handler.call(shouldPresent(push) ? options : []) }
        }

        /// Handles the person's response: call it in `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
        /// - Parameters:
        ///   - response: as the system passes it.
        ///   - completionHandler: the system's; called on the main thread once the response is stored.
        ///   - perform: called on the main thread with what the notification asks for, before `completionHandler`. Not
        ///     called for a dismissal, and for a notification that is not Peal's.
        public nonisolated func didRespond(
            _ response: UNNotificationResponse, completionHandler: @escaping () -> Void,
            perform: @escaping @MainActor @Sendable (PushAction) -> Void
        ) {
            let (push, given) = (Push(response.notification), NotificationResponse(response))
            let handler = MainHandler(completionHandler)
            Task {
                if let action = await didRespond(to: push, given) { await perform(action) }
                await handler.call(())
            }
        }
    }

    /// A completion handler of the system.
    ///
    /// `@unchecked Sendable`: the handler is only called, and only on the main actor, where the system expects it.
    private struct MainHandler<Value: Sendable>: @unchecked Sendable {
        private let handler: (Value) -> Void

        init(_ handler: @escaping (Value) -> Void) { self.handler = handler }

        @MainActor func call(_ value: Value) { handler(value) }
    }
#endif
