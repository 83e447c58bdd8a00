package import Foundation

/// The folder that app and extension share.
package enum DeviceFolder {
    /// The folder of an app group, or the app's own. It is excluded from backups.
    package static func url(group: String?) -> URL {
        let files = FileManager.default
        #if canImport(Darwin)
            if let group, let shared = files.containerURL(forSecurityApplicationGroupIdentifier: group) {
                return shared.appendingPathComponent("Peal", isDirectory: true)
            }
        #endif
        let support = files.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        return (support ?? files.temporaryDirectory).appendingPathComponent("Peal", isDirectory: true)
    }

    package static func ledger(in folder: URL) -> URL { folder.appendingPathComponent("ledger.json") }
}
