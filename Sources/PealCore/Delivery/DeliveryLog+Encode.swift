/// A row: version, number of devices, the two dictionaries, then the columns key, ending, locale. A column of keys is
/// the first key and the gaps to the others, so devices that lie side by side cost nothing.
extension DeliveryLog {
    package static let version: UInt8 = 1

    /// Packs entries in ascending order of key. See `rows` for what is too much for one row.
    package static func encode(_ entries: [DeliveryLogEntry]) -> [UInt8] {
        let log = DeliveryLog(entries)
        return log.encoded(0..<log.count)
    }

    /// The rows that hold `range`, each within `bytesMax` (a row of one device may be longer).
    package func rows(bytesMax: Int = Limits.logRowBytesMax) -> [(range: Range<Int>, data: [UInt8])] {
        rows(of: 0..<count, bytesMax: bytesMax)
    }

    private func rows(of range: Range<Int>, bytesMax: Int) -> [(range: Range<Int>, data: [UInt8])] {
        let data = encoded(range)
        guard data.count > bytesMax, range.count > 1 else { return range.isEmpty ? [] : [(range, data)] }
        let middle = range.lowerBound + range.count / 2
        return rows(of: range.lowerBound..<middle, bytesMax: bytesMax)
            + rows(of: middle..<range.upperBound, bytesMax: bytesMax)
    }

    /// Packs the devices of `range` into one row, with only those dictionary entries that they use.
    package func encoded(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64 + range.count * 2)
        bytes.append(Self.version)
        DeliveryLogColumn.appendVarint(UInt64(range.count), to: &bytes)
        let (usedEndings, endingValues) = Self.used(endingOf, range, of: endings.count)
        DeliveryLogColumn.appendVarint(UInt64(usedEndings.count), to: &bytes)
        for number in usedEndings { Self.append(endings[number], to: &bytes) }
        let (usedLocales, localeValues) = Self.used(localeOf, range, of: locales.count)
        DeliveryLogColumn.appendVarint(UInt64(usedLocales.count), to: &bytes)
        for number in usedLocales { Self.append(locales[number], to: &bytes) }
        if let first = range.first {
            DeliveryLogColumn.appendVarint(UInt64(bitPattern: keys[first]), to: &bytes)
            let gaps = range.dropFirst().map { UInt64(bitPattern: keys[$0] &- keys[$0 - 1] &- 1) }
            DeliveryLogColumn.append(gaps, to: &bytes)
        }
        DeliveryLogColumn.append(endingValues, to: &bytes)
        DeliveryLogColumn.append(localeValues, to: &bytes)
        return bytes
    }

    private static func append(_ ending: Ending, to bytes: inout [UInt8]) {
        bytes.append(ending.outcome.rawValue)
        DeliveryLogColumn.appendVarint(UInt64(ending.attempt), to: &bytes)
        DeliveryLogColumn.appendVarint(UInt64(ending.reason.utf8.count), to: &bytes)
        bytes.append(contentsOf: ending.reason.utf8)
    }

    /// The length is one more than the text's, because 0 stands for nil.
    private static func append(_ locale: String?, to bytes: inout [UInt8]) {
        DeliveryLogColumn.appendVarint(UInt64(locale.map { $0.utf8.count + 1 } ?? 0), to: &bytes)
        if let locale { bytes.append(contentsOf: locale.utf8) }
    }

    /// The dictionary numbers that occur, in order of appearance, and the column in terms of that order.
    private static func used(_ column: [UInt16], _ range: Range<Int>, of count: Int) -> ([Int], [UInt64]) {
        if count == 1 { return (range.isEmpty ? [] : [0], Array(repeating: 0, count: range.count)) }
        var order: [Int] = []
        var place = Array(repeating: UInt64.max, count: count)
        var values: [UInt64] = []
        values.reserveCapacity(range.count)
        for index in range {
            let number = Int(column[index])
            if place[number] == .max {
                place[number] = UInt64(order.count)
                order.append(number)
            }
            values.append(place[number])
        }
        return (order, values)
    }
}
