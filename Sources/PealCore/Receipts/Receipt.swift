/// A fact that a device tells of a message: the first of each kind counts.
package struct Receipt: Sendable, Hashable {
    package var message: MessageID
    package var device: DeviceKey
    package var kind: Kind
    package var at: Timestamp

    package init(message: MessageID, device: DeviceKey, kind: Kind, at: Timestamp) {
        self.message = message
        self.device = device
        self.kind = kind
        self.at = at
    }

    package enum Kind: Int64, CaseIterable, Sendable, Hashable {
        case received = 1
        case opened = 2
        /// The answer to a heartbeat.
        case heartbeat = 3
    }
}
