/// A set of device keys within one key range, with one bit for each key. Union, exclusion and narrowing are word
/// operations. The memory is bounded by the range (about 8 KiB for 65,536 keys), however large the audience is. Pieces
/// without keys take almost none.
package struct KeySet: Sendable {
    /// The key of bit 0.
    package let base: DeviceKey
    private let last: DeviceKey
    /// The bits in pieces of `wordsPerPiece` words. A piece without keys may be empty.
    private var pieces: [[UInt64]]

    private static let wordsPerPiece = 64
    /// The base-2 logarithm of the number of keys in a piece.
    private static let pieceBits = 12

    /// The empty set over `range`.
    package init(range: ClosedRange<DeviceKey>) {
        base = range.lowerBound
        last = range.upperBound
        pieces = Array(repeating: [], count: Int(range.upperBound - range.lowerBound) >> Self.pieceBits + 1)
    }

    /// The set of the `keys` that are in `range`.
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

    /// The number of words in memory, for tests.
    package var wordCount: Int { pieces.reduce(0) { $0 + $1.count } }

    package var range: ClosedRange<DeviceKey> { base...last }

    /// nil outside the range.
    private func bit(of key: DeviceKey) -> Int? { key >= base && key <= last ? Int(key - base) : nil }

    /// The index of a bit's word in its piece.
    private static func word(_ bit: Int) -> Int { bit >> 6 & (wordsPerPiece - 1) }

    package mutating func insert(_ key: DeviceKey) {
        guard let bit = bit(of: key) else { return }
        let piece = bit >> Self.pieceBits
        if pieces[piece].isEmpty { pieces[piece] = Array(repeating: 0, count: Self.wordsPerPiece) }
        pieces[piece][Self.word(bit)] |= 1 << UInt64(bit & 63)
    }

    package mutating func remove(_ key: DeviceKey) {
        guard let bit = bit(of: key), !pieces[bit >> Self.pieceBits].isEmpty else { return }
        pieces[bit >> Self.pieceBits][Self.word(bit)] &= ~(1 << UInt64(bit & 63))
    }

    package func contains(_ key: DeviceKey) -> Bool {
        guard let bit = bit(of: key), !pieces[bit >> Self.pieceBits].isEmpty else { return false }
        return pieces[bit >> Self.pieceBits][Self.word(bit)] & 1 << UInt64(bit & 63) != 0
    }

    /// Both sets must have the same range.
    package mutating func formUnion(_ other: KeySet) {
        precondition(base == other.base && pieces.count == other.pieces.count)
        for index in pieces.indices where !other.pieces[index].isEmpty {
            if pieces[index].isEmpty {
                pieces[index] = other.pieces[index]
            } else {
                for word in 0..<Self.wordsPerPiece { pieces[index][word] |= other.pieces[index][word] }
            }
        }
    }

    package mutating func formIntersection(_ other: KeySet) {
        precondition(base == other.base && pieces.count == other.pieces.count)
        for index in pieces.indices where !pieces[index].isEmpty {
            if other.pieces[index].isEmpty {
                pieces[index] = []
            } else {
                for word in 0..<Self.wordsPerPiece { pieces[index][word] &= other.pieces[index][word] }
            }
        }
    }

    package mutating func subtract(_ other: KeySet) {
        precondition(base == other.base && pieces.count == other.pieces.count)
        for index in pieces.indices where !pieces[index].isEmpty && !other.pieces[index].isEmpty {
            for word in 0..<Self.wordsPerPiece { pieces[index][word] &= ~other.pieces[index][word] }
        }
    }

    package var count: Int { pieces.reduce(0) { $0 + Self.count($1[...]) } }

    private static func count(_ words: ArraySlice<UInt64>) -> Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// How many keys there are after `key`.
    package func count(after key: DeviceKey) -> Int {
        guard key >= base else { return count }
        guard key < last else { return 0 }
        let bit = Int(key - base) + 1
        let piece = bit >> Self.pieceBits
        let later = pieces[(piece + 1)...].reduce(0) { $0 + Self.count($1[...]) }
        guard !pieces[piece].isEmpty else { return later }
        let word = Self.word(bit)
        let first = pieces[piece][word] >> UInt64(bit & 63)
        return first.nonzeroBitCount + Self.count(pieces[piece][(word + 1)...]) + later
    }

    /// Replaces the keys after `key` with those of `other`. Keys outside the range are left out.
    package mutating func replaceKeys(after key: DeviceKey, with other: KeySet) {
        guard key < last else { return }
        let first = key < base ? 0 : Int(key - base) + 1
        let piece = first >> Self.pieceBits
        for index in pieces.indices where index > piece { pieces[index] = [] }
        if !pieces[piece].isEmpty {
            let word = Self.word(first)
            pieces[piece][word] &= 1 << UInt64(first & 63) - 1
            for index in (word + 1)..<Self.wordsPerPiece { pieces[piece][index] = 0 }
        }
        var cursor = key
        while case let found = other.keys(after: cursor, limit: 1024), let end = found.last {
            for key in found { insert(key) }
            cursor = end
        }
    }

    /// At most `limit` keys after `key`, ascending.
    package func keys(after key: DeviceKey, limit: Int) -> [DeviceKey] {
        var keys: [DeviceKey] = []
        keys.reserveCapacity(min(limit, 1024))
        guard key < last else { return keys }
        var bit = key < base ? 0 : Int(key - base) + 1
        while case let piece = bit >> Self.pieceBits, piece < pieces.count, keys.count < limit {
            guard !pieces[piece].isEmpty else {
                bit = (piece + 1) << Self.pieceBits
                continue
            }
            let word = pieces[piece][Self.word(bit)] >> UInt64(bit & 63)
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
