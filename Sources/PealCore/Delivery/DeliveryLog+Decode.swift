extension DeliveryLog {
    /// Unpacks a row. Whatever the bytes are, the memory it takes is bounded by `Limits.logRowDevicesMax`.
    /// - Throws: `DeliveryLogError` for bytes that `encode` never makes.
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

    /// What a packed row tells of one device; nil when it has none of it.
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
