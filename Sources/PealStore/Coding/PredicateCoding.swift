internal import PealCore

/// A predicate, packed; the first byte is the version of the layout.
enum PredicateCoding {
    private static let version: UInt8 = 1

    static func encode(_ predicate: Predicate) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(version)
        writer.byte(
            (predicate.includesAll ? 1 : 0) | (predicate.isList ? 2 : 0) | (predicate.interactiveOnly ? 4 : 0)
                | (predicate.hasKeys ? 8 : 0))
        for topics in [predicate.topics, predicate.excludedTopics] {
            writer.int(topics.count)
            for topic in topics { writer.varint(UInt64(bitPattern: topic)) }
        }
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> Predicate {
        var reader = ByteReader(bytes)
        guard try reader.byte() == version else { throw PealError.damaged("an audience of a later version") }
        let flags = try reader.byte()
        var predicate = Predicate()
        predicate.includesAll = flags & 1 != 0
        predicate.isList = flags & 2 != 0
        predicate.interactiveOnly = flags & 4 != 0
        predicate.hasKeys = flags & 8 != 0
        predicate.topics = try topics(&reader)
        predicate.excludedTopics = try topics(&reader)
        return predicate
    }

    private static func topics(_ reader: inout ByteReader) throws -> [Int64] {
        try (0..<(try reader.int())).map { _ in Int64(bitPattern: try reader.varint()) }
    }
}
