/// The way to a device: a push network and its environment. A slice has exactly one, so a stopped network parks its own
/// work and nobody else's. The raw value is stored.
package enum Route: Int64, CaseIterable, Hashable, Sendable {
    case apnsProduction = 1
    case apnsSandbox = 2
    case fcm = 3
    case wns = 4
    case mpns = 5
    case webPush = 6
    case baidu = 7
    case blackberry = 8

    package init(_ platform: Platform, _ environment: Environment) {
        switch platform {
        case .ios: self = environment == .production ? .apnsProduction : .apnsSandbox
        case .android: self = .fcm
        case .windows: self = .wns
        case .windowsPhone: self = .mpns
        case .web: self = .webPush
        case .androidBaidu: self = .baidu
        case .blackberry: self = .blackberry
        }
    }

    package var platform: Platform {
        switch self {
        case .apnsProduction, .apnsSandbox: .ios
        case .fcm: .android
        case .wns: .windows
        case .mpns: .windowsPhone
        case .webPush: .web
        case .baidu: .androidBaidu
        case .blackberry: .blackberry
        }
    }

    package var environment: Environment { self == .apnsSandbox ? .sandbox : .production }

    /// nil where no push network is left to reach the device.
    package var provider: ProviderName? {
        switch self {
        case .apnsProduction, .apnsSandbox: .apns
        case .fcm: .fcm
        case .wns: .wns
        case .mpns: .mpns
        case .webPush: .webpush
        case .baidu, .blackberry: nil
        }
    }

    /// Every route to a platform.
    package static func to(_ platform: Platform) -> [Route] { allCases.filter { $0.platform == platform } }
}
