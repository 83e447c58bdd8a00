#if os(iOS) || os(tvOS)
    internal import UIKit
#endif

/// Work that continues after the method that started it has returned.
enum BackgroundWork {
    /// Starts the work, and keeps the app running until it ends, as far as the system allows that. The task is
    /// unstructured because the caller returns to the system, which waits for it before it opens the app.
    @Sendable static func start(_ work: @escaping @Sendable () async -> Void) async {
        #if os(iOS) || os(tvOS)
            let time = await BackgroundTime {}
            Task {
                await work()
                await time.end()
            }
        #else
            Task { await work() }
        #endif
    }

    /// Whether the system has started the app, or keeps it, while the person does not see it.
    @Sendable static func isInBackground() async -> Bool {
        #if os(iOS) || os(tvOS)
            return await MainActor.run { UIApplication.shared.applicationState == .background }
        #else
            return false
        #endif
    }

    /// Keeps the app running while the caller works, as far as the system allows that.
    /// - Parameter expire: called when the system takes the time back; the work must end then.
    /// - Returns: what the caller calls when the work has ended.
    @Sendable static func hold(_ expire: @escaping @Sendable () -> Void) async -> @Sendable () async -> Void {
        #if os(iOS) || os(tvOS)
            let time = await BackgroundTime(expire)
            return { await time.end() }
        #else
            return {}
        #endif
    }
}

#if os(iOS) || os(tvOS)
    /// Time that the system grants to finish something (UIApplication, `beginBackgroundTask`).
    @MainActor private final class BackgroundTime {
        private var id = UIBackgroundTaskIdentifier.invalid

        /// - Parameter expire: called when the time is over.
        init(_ expire: @escaping @Sendable () -> Void) {
            id = UIApplication.shared.beginBackgroundTask(withName: "Peal") { [weak self] in
                expire()
                // The system ends an app that still holds the time when this handler returns.
                self?.end()
            }
        }

        func end() {
            guard id != .invalid else { return }
            UIApplication.shared.endBackgroundTask(id)
            id = .invalid
        }
    }
#endif
