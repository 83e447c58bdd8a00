/// A version of an app, such as `2.10.1`: numbers are compared one by one, missing ones are 0, and `2.0-beta` is before
/// `2.0` (Semantic Versioning 2.0.0 §11). A leading `v`, and what follows a space or a plus sign, are ignored.
package struct VersionNumber: Sendable, Hashable, Comparable {
    /// The digits of each number without leading zeros. They may be too long for an integer.
    private let numbers: [[UInt8]]
    /// The identifiers after the numbers; empty for a release.
    private let preRelease: [[UInt8]]

    /// - Returns: nil if the text does not begin with a number.
    package init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        if let first = rest.first, first | 0x20 == UInt8(ascii: "v") { rest = rest.dropFirst() }
        guard let first = rest.first, first.isASCIIDigit else { return nil }
        if let end = rest.firstIndex(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "+") }) {
            rest = rest[..<end]
        }
        let digits = rest.prefix { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
        let parts = digits.split(separator: UInt8(ascii: ".")).map { Array($0.drop { $0 == UInt8(ascii: "0") }) }
        numbers = Array(parts[..<(parts.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? 0)])
        preRelease = rest.dropFirst(digits.count).split { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
            .map(Array.init)
    }

    package static func < (left: VersionNumber, right: VersionNumber) -> Bool {
        for index in 0..<max(left.numbers.count, right.numbers.count) {
            let pair = (left.numbers.at(index), right.numbers.at(index))
            if pair.0 != pair.1 { return isLess(pair.0, pair.1) }
        }
        if left.preRelease.isEmpty || right.preRelease.isEmpty {
            return !left.preRelease.isEmpty && right.preRelease.isEmpty
        }
        for (one, other) in zip(left.preRelease, right.preRelease) where one != other { return precedes(one, other) }
        return left.preRelease.count < right.preRelease.count
    }

    /// Compares digits without leading zeros.
    private static func isLess(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count != right.count ? left.count < right.count : left.lexicographicallyPrecedes(right)
    }

    /// Numbers are compared by value and precede words.
    private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        switch (left.allSatisfy(\.isASCIIDigit), right.allSatisfy(\.isASCIIDigit)) {
        case (true, true): return isLess(Array(left.drop { $0 == 0x30 }), Array(right.drop { $0 == 0x30 }))
        case (false, false): return left.lexicographicallyPrecedes(right)
        case (let isLeft, _): return isLeft
        }
    }
}

extension [[UInt8]] {
    /// The number at `index`; 0, which has no digits, after the last one.
    fileprivate func at(_ index: Int) -> [UInt8] { index < count ? self[index] : [] }
}
