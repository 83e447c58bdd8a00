/// The devices that a worker holds at once, as parallel arrays in key order; addresses lie end to end in one arena.
package struct DevicePage: Sendable {
    package private(set) var keys: [DeviceKey] = []
    package private(set) var addressEnds: [Int32] = []
    package private(set) var arena: [UInt8] = []
    /// The address revision read, by which a retirement proves that it means this address and no later one.
    package private(set) var revisions: [Int64] = []
    /// Numbers from the store's dictionary of locales; 0 = none.
    package private(set) var locales: [Int32] = []
    /// Every key of the slice up to here is in this page or is no longer in the audience.
    package var through: DeviceKey
    /// Whether nothing of the slice lies beyond `through`.
    package var isLast: Bool
    package let readAt: Timestamp

    package init(through: DeviceKey, isLast: Bool, readAt: Timestamp, capacity: Int = 0) {
        self.through = through
        self.isLast = isLast
        self.readAt = readAt
        keys.reserveCapacity(capacity)
        addressEnds.reserveCapacity(capacity)
        arena.reserveCapacity(capacity * 32)
        revisions.reserveCapacity(capacity)
        locales.reserveCapacity(capacity)
    }

    package var count: Int { keys.count }

    package mutating func append(
        key: DeviceKey, address: UnsafeRawBufferPointer, revision: Int64, locale: Int32
    ) {
        keys.append(key)
        arena.append(contentsOf: address)
        addressEnds.append(Int32(arena.count))
        revisions.append(revision)
        locales.append(locale)
    }

    /// Where device `index`'s address lies in `arena`.
    package func addressRange(_ index: Int) -> Range<Int> {
        Int(index == 0 ? 0 : addressEnds[index - 1])..<Int(addressEnds[index])
    }
}
