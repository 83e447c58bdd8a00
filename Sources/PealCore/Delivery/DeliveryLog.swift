/// A row of the delivery log, unpacked: parallel columns over the devices of a page, and the dictionaries that two of
/// the columns index. Receives a worker's results and returns bytes and entries.
package struct DeliveryLog: Sendable, Hashable {
    /// The outcome of one device's notification, as far as this row knows it.
    package struct Ending: Sendable, Hashable {
        package let outcome: Outcome
        package let reason: String
        package let attempt: Int

        /// `reason` is truncated to `Limits.logReasonBytesMax` bytes; a negative `attempt` becomes 0.
        package init(_ outcome: Outcome, reason: String = "", attempt: Int) {
            self.outcome = outcome
            self.reason = Self.cut(reason)
            self.attempt = max(0, attempt)
        }

        private static func cut(_ reason: String) -> String {
            guard reason.utf8.count > Limits.logReasonBytesMax else { return reason }
            var kept = ""
            for character in reason {
                guard kept.utf8.count + character.utf8.count <= Limits.logReasonBytesMax else { break }
                kept.append(character)
            }
            return kept
        }
    }

    /// Strictly ascending.
    package let keys: [DeviceKey]
    package let endings: [Ending]
    /// Index into `endings`, per device.
    package let endingOf: [UInt16]
    package let locales: [String?]
    /// Index into `locales`, per device.
    package let localeOf: [UInt16]

    /// Requires columns of equal length whose indices are valid in their dictionaries.
    package init(
        keys: [DeviceKey], endings: [Ending], endingOf: [UInt16], locales: [String?], localeOf: [UInt16]
    ) {
        precondition(keys.count == endingOf.count && keys.count == localeOf.count)
        self.keys = keys
        self.endings = endings
        self.endingOf = endingOf
        self.locales = locales
        self.localeOf = localeOf
    }

    /// Requires strictly ascending keys and at most 65,535 distinct endings and locales.
    package init(_ entries: [DeliveryLogEntry]) {
        var endings: [Ending] = []
        var locales: [String?] = []
        var endingNumbers: [Ending: UInt16] = [:]
        var localeNumbers: [String?: UInt16] = [:]
        var endingOf: [UInt16] = []
        var localeOf: [UInt16] = []
        for entry in entries {
            let ending = Ending(entry.outcome, reason: entry.reason, attempt: entry.attempt)
            endingOf.append(Self.number(of: ending, in: &endings, &endingNumbers))
            localeOf.append(Self.number(of: entry.locale, in: &locales, &localeNumbers))
        }
        self.init(
            keys: entries.map(\.key), endings: endings, endingOf: endingOf, locales: locales, localeOf: localeOf)
    }

    private static func number<Value: Hashable>(
        of value: Value, in list: inout [Value], _ numbers: inout [Value: UInt16]
    ) -> UInt16 {
        if let number = numbers[value] { return number }
        let number = UInt16(truncatingIfNeeded: list.count)
        list.append(value)
        numbers[value] = number
        return number
    }

    package var count: Int { keys.count }

    package func entry(_ index: Int) -> DeliveryLogEntry {
        let ending = endings[Int(endingOf[index])]
        return DeliveryLogEntry(
            key: keys[index], outcome: ending.outcome, reason: ending.reason, attempt: ending.attempt,
            locale: locales[Int(localeOf[index])])
    }

    package var entries: [DeliveryLogEntry] { keys.indices.map(entry) }

    /// The entry of one device, found by binary search; nil if the row has none.
    package func find(_ key: DeviceKey) -> DeliveryLogEntry? {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < keys.count && keys[low] == key ? entry(low) : nil
    }

    /// The counts of the devices in `range`. Devices with the outcome `moved` do not count.
    package func counts(_ range: Range<Int>) -> OutcomeCounts {
        var histogram = Array(repeating: 0, count: endings.count)
        for index in range { histogram[Int(endingOf[index])] += 1 }
        var counts = OutcomeCounts()
        for (ending, count) in zip(endings, histogram) where count > 0 {
            counts.count(ending.outcome, count, reason: ending.outcome.counted(ending.reason))
        }
        return counts
    }
}

/// One device's entry in a row of the delivery log.
package struct DeliveryLogEntry: Sendable, Hashable {
    package let key: DeviceKey
    package let outcome: Outcome
    /// The provider's own reason or one that Peal defines; empty for plain acceptance.
    package let reason: String
    /// The number of attempts so far, including this one.
    package let attempt: Int
    /// The content locale of the notification; nil if nothing is localized or nothing was rendered.
    package let locale: String?

    package init(key: DeviceKey, outcome: Outcome, reason: String = "", attempt: Int, locale: String? = nil) {
        self.key = key
        self.outcome = outcome
        self.reason = reason
        self.attempt = attempt
        self.locale = locale
    }
}

/// A packed row: version, number of devices, the two dictionaries, then the columns of keys, endings and locales. The
/// column of keys holds the first key and the gaps between keys, so consecutive devices take no space.
extension DeliveryLog {
    package static let version: UInt8 = 1

    /// Packs entries in ascending order of keys into one row. Use `rows` if they may need several rows.
    package static func encode(_ entries: [DeliveryLogEntry]) -> [UInt8] {
        let log = DeliveryLog(entries)
        return log.encoded(0..<log.count)
    }

    /// The rows of the log with the devices in each, each within `Limits.logRowBytesMax` (a row of one device may be
    /// longer).
    package func rows(
        sentAt: Timestamp, tookMilliseconds: Int64 = 0
    ) -> [(range: Range<Int>, row: Settlement.LogRow)] {
        parts(of: 0..<count).map { range, data in
            let row = Settlement.LogRow(
                firstKey: keys[range.lowerBound], lastKey: keys[range.upperBound - 1], deviceCount: range.count,
                sentAt: sentAt, tookMilliseconds: tookMilliseconds, data: data)
            return (range, row)
        }
    }

    private func parts(of range: Range<Int>) -> [(range: Range<Int>, data: [UInt8])] {
        let data = encoded(range)
        guard data.count > Limits.logRowBytesMax, range.count > 1 else { return range.isEmpty ? [] : [(range, data)] }
        let middle = range.lowerBound + range.count / 2
        return parts(of: range.lowerBound..<middle) + parts(of: middle..<range.upperBound)
    }

    /// Packs the devices of `range` into one row, with only the dictionary entries that they use.
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

    /// Writes the length of the text plus one, because 0 represents nil.
    private static func append(_ locale: String?, to bytes: inout [UInt8]) {
        DeliveryLogColumn.appendVarint(UInt64(locale.map { $0.utf8.count + 1 } ?? 0), to: &bytes)
        if let locale { bytes.append(contentsOf: locale.utf8) }
    }

    /// The dictionary indices in use, in order of appearance, and the column as indices into that order.
    private static func used(_ column: [UInt16], _ range: Range<Int>, of count: Int) -> ([Int], [UInt64]) {
        if count == 1 { return (range.isEmpty ? [] : [0], Array(repeating: 0, count: range.count)) }
        var order: [Int] = []
        var position = Array(repeating: UInt64.max, count: count)
        var values: [UInt64] = []
        values.reserveCapacity(range.count)
        for index in range {
            let number = Int(column[index])
            if position[number] == .max {
                position[number] = UInt64(order.count)
                order.append(number)
            }
            values.append(position[number])
        }
        return (order, values)
    }
}

extension DeliveryLog {
    /// Unpacks a row. For any bytes, `Limits.logRowDevicesMax` limits the memory.
    /// - Throws: `DeliveryLogError` for bytes that `encode` never writes.
    package static func decode(_ bytes: [UInt8]) throws(DeliveryLogError) -> DeliveryLog {
        var reader = DeliveryLogReader(bytes)
        guard try reader.byte() == version else { throw DeliveryLogError("unknown version of the delivery log") }
        let count = try reader.count(upTo: Limits.logRowDevicesMax)
        var endings: [Ending] = []
        for _ in 0..<(try reader.count(upTo: count)) { endings.append(try ending(&reader)) }
        var locales: [String?] = []
        for _ in 0..<(try reader.count(upTo: count)) {
            let length = try reader.count(upTo: bytes.count)
            locales.append(length == 0 ? nil : try reader.text(length - 1))
        }
        let keys = try keys(&reader, count)
        let endingOf = try indexes(&reader, count, below: endings.count)
        let localeOf = try indexes(&reader, count, below: locales.count)
        guard reader.isAtEnd else { throw DeliveryLogError("bytes after the end of the row") }
        return DeliveryLog(keys: keys, endings: endings, endingOf: endingOf, locales: locales, localeOf: localeOf)
    }

    /// The entry of one device in a packed row; nil if the row has none.
    package static func find(_ key: DeviceKey, in bytes: [UInt8]) throws(DeliveryLogError) -> DeliveryLogEntry? {
        try decode(bytes).find(key)
    }

    private static func ending(_ reader: inout DeliveryLogReader) throws(DeliveryLogError) -> Ending {
        guard let outcome = Outcome(rawValue: try reader.byte()) else { throw DeliveryLogError("unknown outcome") }
        let attempt = try reader.count(upTo: Int(Int32.max))
        let length = try reader.count(upTo: Limits.logReasonBytesMax)
        return Ending(outcome, reason: try reader.text(length), attempt: attempt)
    }

    private static func keys(
        _ reader: inout DeliveryLogReader, _ count: Int
    ) throws(DeliveryLogError) -> [DeviceKey] {
        guard count > 0 else { return [] }
        var key = DeviceKey(bitPattern: try reader.varint())
        var keys = [key]
        keys.reserveCapacity(count)
        for gap in try DeliveryLogColumn.read(count - 1, from: &reader) {
            guard let step = DeviceKey(exactly: gap), step < .max else { throw DeliveryLogError("gap out of range") }
            let (next, isTooLarge) = key.addingReportingOverflow(step + 1)
            guard !isTooLarge else { throw DeliveryLogError("key out of range") }
            key = next
            keys.append(key)
        }
        return keys
    }

    private static func indexes(
        _ reader: inout DeliveryLogReader, _ count: Int, below end: Int
    ) throws(DeliveryLogError) -> [UInt16] {
        var indexes: [UInt16] = []
        indexes.reserveCapacity(count)
        for value in try DeliveryLogColumn.read(count, from: &reader) {
            guard value < UInt64(end), let index = UInt16(exactly: value) else {
                throw DeliveryLogError("index outside its dictionary")
            }
            indexes.append(index)
        }
        return indexes
    }
}

/// Bytes that are not a row of the delivery log.
package struct DeliveryLogError: Error, Hashable, Sendable {
    package let message: String

    package init(_ message: String) { self.message = message }
}
