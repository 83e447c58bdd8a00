/// What became of one device's notification. The raw value is stored in the delivery log.
package enum Outcome: UInt8, CaseIterable, Sendable, Hashable {
    case accepted = 0
    case rejected = 1
    case retired = 2
    case expired = 3
    case suppressed = 4
    /// Not an end: the answer stands in a later row of the same window.
    case moved = 5

    package var name: String { String(describing: self) }
}
