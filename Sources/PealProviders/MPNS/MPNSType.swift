/// The kinds of notification that MPNS knew (Microsoft: "Sending push notifications for Windows Phone 8").
enum MPNSType: String, CaseIterable, Sendable {
    case toast, tile, raw

    /// `X-WindowsPhone-Target`; raw notifications have none.
    var target: String? {
        switch self {
        case .toast: "toast"
        case .tile: "token"
        case .raw: nil
        }
    }

    /// `X-NotificationClass` of an immediate notification; ten more each for 450 and 900 seconds.
    private var immediateClass: Int {
        switch self {
        case .tile: 1
        case .toast: 2
        case .raw: 3
        }
    }

    /// How soon MPNS hands a notification to the phone.
    enum Delay: Int, CaseIterable, Sendable {
        case none, within450Seconds, within900Seconds

        var seconds: Int64 { Int64(rawValue) * 450 }
    }

    func notificationClass(_ delay: Delay) -> Int { immediateClass + 10 * delay.rawValue }

    /// The delay that a class stands for.
    static func delay(ofClass number: Int) -> Delay { Delay(rawValue: number / 10) ?? .none }
}
