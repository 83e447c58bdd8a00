internal import PealCore
internal import PealShapes

/// Maps the dialect's names of platforms to Peal's platforms and routes.
enum PivotalPlatform {
    /// The platform that `os` of a registration names, in any letter case; nil for an unknown name.
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

    /// The valid values of `os` in a registration.
    static let words = [
        "ios", "android", "android-fcm", "android-gcm", "android-baidu", "windows8", "windows", "windowsphone",
        "windows_phone", "bb10", "blackberry",
    ]

    /// The dialect's name of the platform.
    static func os(_ platform: Platform) -> String {
        switch platform {
        case .ios: "ios"
        case .android: "android"
        case .androidBaidu: "android-baidu"
        case .windows: "windows8"
        case .windowsPhone: "windowsPhone"
        case .blackberry: "bb10"
        default: platform.rawValue
        }
    }

    /// The platforms whose devices a platform key may register and see.
    static func family(_ platform: Platform) -> [Platform] {
        Platform.allCases.filter { $0.family == platform.family }
    }
}

extension PivotalPlatform {
    /// The routes to the devices of a platform; `all` means every platform.
    /// - Throws: `invalid_field` for an unknown name.
    static func routes(named name: String) throws(PealError) -> [Route] {
        guard name.lowercased() != "all" else { return allRoutes }
        guard let platform = platform(os: name) else { throw .invalid("platform", "platform \(name) is unknown") }
        return Route.to(platform)
    }

    static var allRoutes: [Route] { Route.allCases.filter { !$0.isBroadcast } }

    /// The routes to the devices that a platform key may register; empty if the app has no such key.
    static func routes(ofKey uuid: String, app: AppKey, in store: any StoreReading) throws -> [Route] {
        guard let key = try store.storedKey(.pivotalPlatform, publicHalf: uuid)?.key, key.app == app,
            let platform = key.platform
        else { return [] }
        return family(platform).map { Route($0, key.environment ?? .production) }
    }
}
