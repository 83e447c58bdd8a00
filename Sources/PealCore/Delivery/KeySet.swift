/// A set of device keys within one key range, with one bit for each key. Union, exclusion and narrowing are word
/// operations. The memory depends only on the range (8 KiB for 65,536 keys), not on the audience.
package struct KeySet: Sendable, Hashable {
    /// The key of bit 0.
    package let base: DeviceKey
    private let last: DeviceKey
    package private(set) var words: [UInt64]

    /// The empty set over `range`.
    package init(range: ClosedRange<DeviceKey>) {
        base = range.lowerBound
        last = range.upperBound
        words = Array(repeating: 0, count: Int(range.upperBound - range.lowerBound) / 64 + 1)
    }

    /// Those of `keys` that are in `range`.
    package init(range: ClosedRange<DeviceKey>, _ keys: some Sequence<DeviceKey>) {
        self.init(range: range)
        for key in keys { insert(key) }
    }

    /// The keys that the slice lists and that its cursor has not passed; the empty set if it lists none.
    package init(listOf slice: Slice) {
        let first = max(slice.keyFrom, slice.cursor + 1)
        self.init(range: min(first, slice.keyTo)...slice.keyTo)
        guard first <= slice.keyTo else { return }
        for key in slice.keys ?? [] { insert(key) }
    }

    /// nil outside the range.
    private func bit(of key: DeviceKey) -> Int? { key >= base && key <= last ? Int(key - base) : nil }

    package mutating func insert(_ key: DeviceKey) {
        guard let bit = bit(of: key) else { return }
        words[bit >> 6] |= 1 << UInt64(bit & 63)
    }

    package mutating func remove(_ key: DeviceKey) {
        guard let bit = bit(of: key) else { return }
        words[bit >> 6] &= ~(1 << UInt64(bit & 63))
    }

    package func contains(_ key: DeviceKey) -> Bool {
        guard let bit = bit(of: key) else { return false }
        return words[bit >> 6] & 1 << UInt64(bit & 63) != 0
    }

    /// Both sets must have the same range.
    package mutating func formUnion(_ other: KeySet) {
        precondition(base == other.base && words.count == other.words.count)
        for index in words.indices { words[index] |= other.words[index] }
    }

    package mutating func formIntersection(_ other: KeySet) {
        precondition(base == other.base && words.count == other.words.count)
        for index in words.indices { words[index] &= other.words[index] }
    }

    package mutating func subtract(_ other: KeySet) {
        precondition(base == other.base && words.count == other.words.count)
        for index in words.indices { words[index] &= ~other.words[index] }
    }

    package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// How many keys there are after `key`.
    package func count(after key: DeviceKey) -> Int {
        guard key >= base else { return count }
        guard key < last else { return 0 }
        let bit = Int(key - base) + 1
        let first = words[bit >> 6] >> UInt64(bit & 63)
        return words[(bit >> 6 + 1)...].reduce(first.nonzeroBitCount) { $0 + $1.nonzeroBitCount }
    }

    /// Replaces the keys after `key` with those of `other`. Keys outside the range are left out.
    package mutating func replaceKeys(after key: DeviceKey, with other: KeySet) {
        guard key < last else { return }
        let first = key < base ? 0 : Int(key - base) + 1
        words[first >> 6] &= 1 << UInt64(first & 63) - 1
        for index in words.indices where index > first >> 6 { words[index] = 0 }
        for (index, word) in other.words.enumerated() {
            var word = word
            while word != 0 {
                let found = other.base + DeviceKey(index << 6 + word.trailingZeroBitCount)
                if found > key { insert(found) }
                word &= word - 1
            }
        }
    }

    /// At most `limit` keys after `key`, ascending.
    package func keys(after key: DeviceKey, limit: Int) -> [DeviceKey] {
        var keys: [DeviceKey] = []
        keys.reserveCapacity(min(limit, 1024))
        guard key < last else { return keys }
        var bit = key < base ? 0 : Int(key - base) + 1
        while bit >> 6 < words.count, keys.count < limit {
            let word = words[bit >> 6] >> UInt64(bit & 63)
            if word == 0 {
                bit = (bit >> 6 + 1) << 6
            } else {
                bit += word.trailingZeroBitCount
                keys.append(base + DeviceKey(bit))
                bit += 1
            }
        }
        return keys
    }
}
