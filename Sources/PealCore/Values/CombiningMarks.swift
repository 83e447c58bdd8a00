/// Texts with so many combining marks in a row that comparing them would take very long. Swift compares and hashes
/// texts by their canonical form, for which it sorts the marks of each character in quadratic time: 64,000 of them take
/// seconds. So every text from outside is checked where it is read.
package enum CombiningMarks {
    /// Whether more than `Limits.combiningMarksMax` marks follow each other. Unicode's stream-safe format (UAX #15) has
    /// at most 30.
    package static func areTooMany(in text: String) -> Bool {
        // The first mark is U+0300, whose UTF-8 begins with this byte.
        guard text.utf8.contains(where: { $0 >= 0xCC }) else { return false }
        // Looking up categories is slow, and few texts have so many non-Latin letters in a row.
        return hasRun(in: text, of: mayBeMark) && hasRun(in: text, of: isMark)
    }

    private static func hasRun(in text: String, of isCounted: (Unicode.Scalar) -> Bool) -> Bool {
        var count = 0
        for scalar in text.unicodeScalars {
            count = isCounted(scalar) ? count + 1 : 0
            if count > Limits.combiningMarksMax { return true }
        }
        return false
    }

    /// Chinese, Japanese and Korean characters between the marks need no look-up.
    private static func mayBeMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x300, 0x3100..<0xA66F, 0xAC00..<0xFB1E: false
        default: true
        }
    }

    /// The general categories include the few marks that only decompose into marks that are sorted.
    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        guard mayBeMark(scalar) else { return false }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}

extension Limits {
    /// How many combining marks may follow each other in a text from outside.
    package static let combiningMarksMax = 64
}
