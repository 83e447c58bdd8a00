/// What a device tells, before anybody has looked whether it and the message are known.
package struct DeviceFact: Sendable, Hashable {
    package var device: DeviceID
    package var subject: Subject
    /// By the device's own clock.
    package var at: Timestamp

    package init(device: DeviceID, subject: Subject, at: Timestamp) {
        self.device = device
        self.subject = subject
        self.at = at
    }

    package enum Subject: Sendable, Hashable {
        case message(MessageID, Receipt.Kind)
        case geofence(Int64, location: Int64)
    }
}
