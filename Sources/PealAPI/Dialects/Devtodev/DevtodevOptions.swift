internal import PealCore

/// Reads `options` of one platform's message.
struct DevtodevOptions {
    let isHidden: Bool
    var delivery: PlatformOptions

    /// From here on a number in `expire` is an instant: seconds, and later on milliseconds since 1970.
    private static let earliestSeconds: Int64 = 1_000_000_000
    private static let earliestMilliseconds: Int64 = 1_000_000_000_000
    /// 9999-12-31T23:59:59Z.
    private static let latestSeconds: Int64 = 253_402_300_799

    init(_ message: Tolerance, platform: Platform) throws(PealError) {
        let options = try message.part("options")
        isHidden = platform == .windows ? false : try options.flag("hidden") ?? false
        delivery = PlatformOptions()
        delivery.priority = try Self.priority(options)
        delivery.life = try Self.life(options)
        let bytesMax = platform == .ios ? Limits.devtodevCollapseKeyBytesMax : Limits.nameCharactersMax
        delivery.collapseKey = try options.text("collapse_key", bytesMax: bytesMax)
        if isHidden { delivery.isBackground = true }
        guard platform == .ios else { return }
        delivery.environment = try options.flag("sandbox") ?? false ? .sandbox : .production
        if isHidden, delivery.priority == .high {
            throw DevtodevRefusals.hidden(message, "priority high on iOS")
        }
    }

    private static func priority(_ options: Tolerance) throws(PealError) -> MessageOptions.Priority {
        guard let text = try options.text("priority") else { return .normal }
        switch text.lowercased() {
        case "high": return .high
        case "normal": return .normal
        default: throw .invalid(options.path("priority"), "\(options.path("priority")) must be high or normal")
        }
    }

    private static func life(_ options: Tolerance) throws(PealError) -> MessageOptions.Life {
        guard let number = try options.integer("expire") else { return .seconds(Limits.devtodevLifeSeconds) }
        switch number {
        case 0..<earliestSeconds: return .seconds(min(number, Limits.ttlSecondsMax))
        case earliestSeconds..<earliestMilliseconds where number <= latestSeconds:
            return .until(Timestamp(seconds: number))
        case earliestMilliseconds...latestSeconds * 1000: return .until(Timestamp(milliseconds: number))
        default:
            throw .invalid(
                options.path("expire"), "\(options.path("expire")) must be seconds from now, or an instant")
        }
    }
}
