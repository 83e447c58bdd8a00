internal import PealCore

/// The dialect's words for platforms.
enum PivotalPlatform {
    /// What `os` of a registration means; letter case does not matter. nil for an unknown word.
    static func platform(os: String) -> Platform? {
        switch os.lowercased() {
        case "ios": .ios
        case "android", "android-fcm", "android-gcm": .android
        case "android-baidu": .androidBaidu
        case "windows8", "windows": .windows
        case "windowsphone", "windows_phone": .windowsPhone
        case "bb10", "blackberry": .blackberry
        default: nil
        }
    }

    /// The dialect's own word.
    static func os(_ platform: Platform) -> String {
        switch platform {
        case .ios: "ios"
        case .android: "android"
        case .androidBaidu: "android-baidu"
        case .windows: "windows8"
        case .windowsPhone: "windowsPhone"
        case .blackberry: "bb10"
        case .web: "web"
        }
    }

    /// The platforms whose devices a platform key may register and see.
    static func family(_ platform: Platform) -> [Platform] {
        switch platform {
        case .android, .androidBaidu, .blackberry: [.android, .androidBaidu, .blackberry]
        default: [platform]
        }
    }
}
