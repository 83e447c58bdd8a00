package import Foundation

#if canImport(os)
    internal import os
#endif

/// The folder that app and extension share.
package enum DeviceFolder {
    /// The folder of an app group. nil, with a line in the system's log, if the group's container cannot be opened: the
    /// app or the extension lacks the entitlement, or the names differ.
    package static func shared(group: String) -> URL? {
        #if canImport(Darwin)
            let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
            #if os(tvOS)
                let path = "Library/Caches/Peal"
            #else
                let path = "Peal"
            #endif
            if let container { return container.appendingPathComponent(path, isDirectory: true) }
        #endif
        SystemLog.error("The container of the app group \(group) cannot be opened; check App Groups.")
        return nil
    }

    /// The app's own folder. On an Apple TV, apps can write only to caches, which the system may delete while the app
    /// is not running: then it registers again with its address, and stays the same device.
    package static var own: URL {
        let files = FileManager.default
        #if os(tvOS)
            let directory = FileManager.SearchPathDirectory.cachesDirectory
        #else
            let directory = FileManager.SearchPathDirectory.applicationSupportDirectory
        #endif
        var folder = files.urls(for: directory, in: .userDomainMask).first ?? files.temporaryDirectory
        #if os(macOS) || targetEnvironment(macCatalyst)
            // Apps outside the sandbox share the directory, and with one ledger they would be one device.
            let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
            folder.appendPathComponent(app, isDirectory: true)
        #endif
        folder.appendPathComponent("Peal", isDirectory: true)
        return folder
    }

    package static func ledger(in folder: URL) -> URL { folder.appendingPathComponent("ledger.json") }
}

/// The system's log, for faults that the app's developer can repair.
package enum SystemLog {
    /// - Parameter message: nothing that identifies a person or a device.
    package static func error(_ message: String) {
        #if canImport(os)
            Logger(subsystem: "peal", category: "sdk").error("\(message, privacy: .public)")
        #endif
    }
}
