import Synchronization

/// The marked devices. Without marks every well-formed device token is good everywhere.
package final class DeviceMarks: Sendable {
    private let marks = Mutex<[String: DeviceMark]>([:])

    /// No marks.
    package init() {}

    /// Marks `device` (lower case). Throws when there are too many.
    package func set(_ mark: DeviceMark, device: String) throws {
        try marks.withLock { marks in
            guard marks[device] != nil || marks.count < SimulatorLimits.devicesMarkedMax else {
                throw SimulatorError("devices: no more than \(SimulatorLimits.devicesMarkedMax) marks")
            }
            marks[device] = mark
        }
    }

    /// Takes the mark of `device` away. Says whether there was one.
    package func remove(device: String) -> Bool {
        marks.withLock { $0.removeValue(forKey: device) != nil }
    }

    /// The mark of `device` (lower case).
    func mark(of device: String) -> DeviceMark? {
        marks.withLock { $0[device] }
    }
}

/// What is known of a device token beyond its form.
package struct DeviceMark: Sendable, Equatable {
    /// The only environment the device token is good in; nil for both.
    package var environment: PushEnvironment?
    /// The only app the device token was given to; nil for any.
    package var bundleID: String?

    /// A mark with these bounds.
    package init(environment: PushEnvironment? = nil, bundleID: String? = nil) {
        self.environment = environment
        self.bundleID = bundleID
    }
}

/// The channels of WNS and MPNS that are not well, by URI.
package final class ChannelStates: Sendable {
    private let states = Mutex<[String: ChannelState]>([:])

    /// All channels are well.
    package init() {}

    /// Puts `uri` into `state`. Throws when there are too many.
    package func set(_ state: ChannelState, uri: String) throws {
        try states.withLock { states in
            guard states[uri] != nil || states.count < SimulatorLimits.devicesMarkedMax else {
                throw SimulatorError("channels: no more than \(SimulatorLimits.devicesMarkedMax)")
            }
            states[uri] = state
        }
    }

    /// Makes `uri` well again. Says whether it was not.
    package func remove(uri: String) -> Bool {
        states.withLock { $0.removeValue(forKey: uri) != nil }
    }

    func state(of uri: String) -> ChannelState? {
        states.withLock { $0[uri] }
    }
}

/// How a channel of WNS or MPNS is: without an entry, well.
package enum ChannelState: String, Sendable, CaseIterable {
    /// The channel is gone (WNS 410, MPNS 404 `Expired`).
    case expired
    /// Too many for this channel (WNS `channelthrottled`, MPNS `QueueFull`).
    case throttled
    /// Taken and thrown away (WNS `dropped`, MPNS `Suppressed`).
    case dropped
    /// The device is away (WNS: taken, `disconnected`; MPNS 412).
    case disconnected
    /// There never was such a channel (404).
    case unknown
    /// The channel belongs to another app (WNS 403, MPNS 401).
    case otherApp = "other_app"
    /// The day's number is used up, or the sender is too fast (406).
    case limited
}

/// How devices are called where faults, marks and states are looked up by device.
enum DeviceName {
    /// `name` as a key: device tokens of APNs count alike in both cases, all other names as they are.
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
