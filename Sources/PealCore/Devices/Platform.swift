/// What an installation runs on. The last two exist only so that registrations of old clients are kept.
package enum Platform: String, CaseIterable, Hashable, Sendable {
    case ios
    case android
    case windows
    case windowsPhone = "windows_phone"
    case web
    case androidBaidu = "android_baidu"
    case blackberry

    /// The platforms an author may name.
    package static let addressable: [Platform] = [.ios, .android, .windows, .windowsPhone, .web]
}

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
    /// Broadcast channels of Live Activities: no device is on these routes, only channels that a message names.
    case apnsBroadcastProduction = 9
    case apnsBroadcastSandbox = 10

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
        case .apnsProduction, .apnsSandbox, .apnsBroadcastProduction, .apnsBroadcastSandbox: .ios
        case .fcm: .android
        case .wns: .windows
        case .mpns: .windowsPhone
        case .webPush: .web
        case .baidu: .androidBaidu
        case .blackberry: .blackberry
        }
    }

    package var environment: Environment {
        self == .apnsSandbox || self == .apnsBroadcastSandbox ? .sandbox : .production
    }

    /// Whether its addresses are channels.
    package var isBroadcast: Bool { self == .apnsBroadcastProduction || self == .apnsBroadcastSandbox }

    /// Whether its addresses are URLs, which lead to hosts of their own.
    package var hasManyHosts: Bool { self == .wns || self == .mpns || self == .webPush }

    /// The route to broadcast channels of that environment.
    package static func broadcast(_ environment: Environment) -> Route {
        environment == .production ? .apnsBroadcastProduction : .apnsBroadcastSandbox
    }

    /// The same push network's other environment; nil where there is one only, and for channels.
    package var otherEnvironment: Route? {
        switch self {
        case .apnsProduction: .apnsSandbox
        case .apnsSandbox: .apnsProduction
        default: nil
        }
    }

    /// nil where no push network is left to reach the device.
    package var provider: ProviderName? {
        switch self {
        case .apnsProduction, .apnsSandbox, .apnsBroadcastProduction, .apnsBroadcastSandbox: .apns
        case .fcm: .fcm
        case .wns: .wns
        case .mpns: .mpns
        case .webPush: .webpush
        case .baidu, .blackberry: nil
        }
    }

    /// Every route to devices of a platform.
    package static func to(_ platform: Platform) -> [Route] {
        allCases.filter { $0.platform == platform && !$0.isBroadcast }
    }
}

/// The push networks.
package enum ProviderName: String, CaseIterable, Hashable, Sendable {
    case apns, fcm, wns, mpns, webpush
}
