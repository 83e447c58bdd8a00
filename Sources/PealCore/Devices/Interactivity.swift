/// Which devices can show notifications with buttons: iOS from 8, Android from 4.1 (PCF Push 1.8, "interactive-only").
package enum Interactivity {
    /// A phone that does not tell its version is taken for one of today.
    package static func isInteractive(platform: Platform, osVersion: String?) -> Bool {
        let wanted: [Int]
        switch platform {
        case .ios: wanted = [8]
        case .android, .androidBaidu: wanted = [4, 1]
        default: return false
        }
        guard let osVersion, let version = numbers(in: osVersion) else { return true }
        return !version.lexicographicallyPrecedes(wanted)
    }

    /// The leading numbers of `17.4.1` or `iOS 17`; nil without any.
    private static func numbers(in version: String) -> [Int]? {
        guard let start = version.firstIndex(where: \.isNumber) else { return nil }
        let text = version[start...].prefix { $0.isNumber || $0 == "." }
        let parts = text.split(separator: ".").prefix(3).compactMap { Int($0) }
        return parts.isEmpty ? nil : parts
    }
}
