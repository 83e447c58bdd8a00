/// A row of the delivery log before it is packed and after it is unpacked: parallel columns over the devices of a page,
/// and the small dictionaries that two of them point into. Receives what a worker concluded, hands on bytes and
/// entries.
package struct DeliveryLog: Sendable, Hashable {
    /// How a device's notification ended, as far as one row knows.
    package struct Ending: Sendable, Hashable {
        package let outcome: Outcome
        package let reason: String
        package let attempt: Int

        /// `reason` is cut to `Limits.logReasonBytesMax` bytes, `attempt` to what is not negative.
        package init(_ outcome: Outcome, reason: String = "", attempt: Int) {
            self.outcome = outcome
            self.reason = Self.cut(reason)
            self.attempt = max(0, attempt)
        }

        /// The reason under which devices are counted: none for a remark with a value (a name, a blank, the value),
        /// which is each device's own.
        var countedReason: String? {
            reason.isEmpty || outcome == .accepted && reason.contains(" ") ? nil : reason
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

    /// Takes columns of one length whose indexes lie within their dictionaries.
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

    /// Gathers entries in strictly ascending order of key, at most 65,535 different endings and locales among them.
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

    /// The entry of one device, found by halving; nil when the row has none.
    package func find(_ key: DeviceKey) -> DeliveryLogEntry? {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < keys.count && keys[low] == key ? entry(low) : nil
    }

    /// How many of `range` ended how; what moved on is in no count.
    package func counts(_ range: Range<Int>) -> OutcomeCounts {
        var histogram = Array(repeating: 0, count: endings.count)
        for index in range { histogram[Int(endingOf[index])] += 1 }
        var counts = OutcomeCounts()
        for (ending, count) in zip(endings, histogram) where count > 0 {
            counts.count(ending.outcome, count, reason: ending.countedReason)
        }
        return counts
    }
}
