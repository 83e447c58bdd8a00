#if os(iOS) || os(tvOS)
    internal import UIKit
#endif

/// Work that goes on after the method that started it has returned.
enum BackgroundWork {
    /// Starts the work, and keeps the app running until it ends, as far as the system allows that. The task is
    /// unstructured because the caller returns to the system, which waits for it before it opens the app.
    @Sendable static func start(_ work: @escaping @Sendable () async -> Void) async {
        #if os(iOS) || os(tvOS)
            let time = await BackgroundTime()
            Task {
                await work()
                await time.end()
            }
        #else
            Task { await work() }
        #endif
    }
}

#if os(iOS) || os(tvOS)
    /// Time that the system grants to finish something (UIApplication, `beginBackgroundTask`).
    @MainActor private final class BackgroundTime {
        private var id = UIBackgroundTaskIdentifier.invalid

        init() {
            id = UIApplication.shared.beginBackgroundTask(withName: "Peal") { [weak self] in self?.end() }
        }

        func end() {
            guard id != .invalid else { return }
            UIApplication.shared.endBackgroundTask(id)
            id = .invalid
        }
    }
#endif
