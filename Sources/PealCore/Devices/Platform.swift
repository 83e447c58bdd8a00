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
