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
