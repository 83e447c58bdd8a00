import Synchronization

/// What a test has declared about devices or channels, by name. Names without an entry behave normally.
package final class MarkTable<Mark: Sendable>: Sendable {
    private let marks = Mutex<[String: Mark]>([:])
    /// The kind of the entries, as errors name it.
    private let noun: String

    fileprivate init(noun: String) {
        self.noun = noun
    }

    /// Sets the mark of `name`. Throws when there are too many.
    package func set(_ mark: Mark, for name: String) throws {
        try marks.withLock { marks in
            guard marks[name] != nil || marks.count < SimulatorLimits.devicesMarkedMax else {
                throw SimulatorError("\(noun): at most \(SimulatorLimits.devicesMarkedMax) marks")
            }
            marks[name] = mark
        }
    }

    /// Removes the mark of `name`. Returns whether there was one.
    package func remove(_ name: String) -> Bool {
        marks.withLock { $0.removeValue(forKey: name) != nil }
    }

    /// The mark of `name`.
    func mark(of name: String) -> Mark? {
        marks.withLock { $0[name] }
    }
}

/// The marks of device tokens, in lower case. Without a mark, every well-formed device token is valid everywhere.
package typealias DeviceMarks = MarkTable<DeviceMark>

extension MarkTable where Mark == DeviceMark {
    package convenience init() { self.init(noun: "devices") }
}

/// What a test has declared about a device token.
package struct DeviceMark: Sendable, Equatable {
    /// The only environment where the device token is valid; nil for both.
    package var environment: PushEnvironment?
    /// The only app that the device token belongs to; nil for any.
    package var bundleID: String?

    /// A mark with these bounds.
    package init(environment: PushEnvironment? = nil, bundleID: String? = nil) {
        self.environment = environment
        self.bundleID = bundleID
    }
}

/// The states of channels, by URI. Without a state, a channel accepts notifications.
package typealias ChannelStates = MarkTable<ChannelState>

extension MarkTable where Mark == ChannelState {
    package convenience init() { self.init(noun: "channels") }
}

/// Why a channel of WNS or MPNS does not accept notifications as usual.
package enum ChannelState: String, Sendable, CaseIterable {
    /// The channel is gone (WNS 410, MPNS 404 `Expired`).
    case expired
    /// Too many notifications for this channel (WNS `channelthrottled`, MPNS `QueueFull`).
    case throttled
    /// Accepted and discarded (WNS `dropped`, MPNS `Suppressed`).
    case dropped
    /// The device is offline (WNS: accepted, `disconnected`; MPNS 412).
    case disconnected
    /// No such channel has ever existed (404).
    case unknown
    /// The channel belongs to another app (WNS 403, MPNS 401).
    case otherApp = "other_app"
    /// The daily quota is used up, or the sender is too fast (406).
    case limited
}

/// Device names as keys of faults, marks and the inbox.
enum DeviceName {
    /// `name` as a key: a name of hexadecimal digits, such as an APNs device token, in lower case; any other unchanged.
    static func key(_ name: String) -> String {
        name.utf8.allSatisfy(Hexadecimal.isDigit) ? name.lowercased() : name
    }
}

/// Hexadecimal digits, as device tokens and UUIDs use them.
enum Hexadecimal {
    /// The lower-case digit of the lowest four bits of `value`.
    static func digit(_ value: UInt64) -> UInt8 {
        let low = UInt8(value & 15)
        return low < 10 ? 0x30 + low : 0x57 + low
    }

    /// Whether `byte` is a digit, in either case.
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
