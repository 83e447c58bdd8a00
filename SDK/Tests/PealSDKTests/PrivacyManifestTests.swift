import Foundation
import Testing

@Suite("The privacy manifest") struct PrivacyManifestTests {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func manifest() throws -> [String: Any] {
        let file = Self.package.appendingPathComponent("Sources/PealDevice/PrivacyInfo.xcprivacy")
        let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
        return try #require(list as? [String: Any])
    }

    @Test("declares what the SDK sends, and no tracking")
    func collected() throws {
        let manifest = try manifest()
        #expect(manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyTrackingDomains"] as? [String]) == [])
        let types = try #require(manifest["NSPrivacyCollectedDataTypes"] as? [[String: Any]])
        let prefix = "NSPrivacyCollectedDataType"
        let names = types.compactMap { ($0[prefix] as? String)?.dropFirst(prefix.count) }
        #expect(Set(names) == ["DeviceID", "UserID", "ProductInteraction", "OtherUsageData", "OtherDataTypes"])
        for type in types {
            #expect(type[prefix + "Linked"] as? Bool == true && type[prefix + "Tracking"] as? Bool == false)
            #expect((type[prefix + "Purposes"] as? [String])?.isEmpty == false)
        }
    }

    /// Apple, "Describing use of required reason API": file timestamps, boot time, disk space, keyboards, defaults.
    @Test(
        "states no reasons, because no source uses an API that needs one",
        arguments: [
            "creationDate", "modificationDate", "ModificationDate", "getattrlist", "stat(", "systemUptime",
            "mach_absolute_time", "volumeAvailableCapacity", "systemFreeSize", "systemSize", "statfs", "statvfs",
            "activeInputModes", "UserDefaults",
        ])
    func reasons(name: String) throws {
        #expect((try manifest()["NSPrivacyAccessedAPITypes"] as? [Any])?.isEmpty == true)
        let sources = Self.package.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            #expect(!(try String(contentsOf: file, encoding: .utf8)).contains(name), "\(file.path)")
        }
    }
}
