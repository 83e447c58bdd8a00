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
            if let container { return container.appendingPathComponent("Peal", isDirectory: true) }
        #endif
        #if canImport(os)
            Logger(subsystem: "peal", category: "sdk").error(
                "The container of the app group \(group, privacy: .public) cannot be opened; check App Groups.")
        #endif
        return nil
    }

    /// The app's own folder.
    package static var own: URL {
        let files = FileManager.default
        let support = files.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        return (support ?? files.temporaryDirectory).appendingPathComponent("Peal", isDirectory: true)
    }

    package static func ledger(in folder: URL) -> URL { folder.appendingPathComponent("ledger.json") }
}
