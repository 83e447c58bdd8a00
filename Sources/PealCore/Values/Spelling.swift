/// Suggests the name that an author probably meant, and writes counts of things.
package enum Spelling {
    /// The name with the smallest edit distance, ignoring letter case, `-` and `_`.
    /// - Returns: nil if no name is close.
    package static func nearest(to name: String, _ names: [String]) -> String? {
        let plain = { (text: String) in Array(text.lowercased().utf8.filter { $0 != 0x5F && $0 != 0x2D }) }
        // A long name is close to none, and is not worth reading again for each of them.
        let plainName = plain(String(name.unicodeScalars.prefix(256)))
        return names.map { ($0, distance(plainName, plain($0))) }
            .filter { $0.1 <= ($0.0.utf8.count < 4 ? 1 : max(2, $0.0.utf8.count / 4)) }.min { $0.1 < $1.1 }?.0
    }

    /// `1 device`, `2 devices`.
    /// - Parameter noun: in the singular; its plural ends in `s`.
    package static func counted(_ count: some BinaryInteger, _ noun: String) -> String {
        count == 1 ? "\(count) \(noun)" : "\(count) \(noun)s"
    }

    /// The Levenshtein distance.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, byte) in left.prefix(64).enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (byte == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(row[column] + 1, row[column + 1] + 1, replaced)
            }
        }
        return row[right.count]
    }
}
