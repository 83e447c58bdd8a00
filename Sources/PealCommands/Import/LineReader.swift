internal import PealCore

/// Reads a file line by line; empty lines are passed over.
struct LineReader {
    private var source: ByteSource
    private var line = 0

    /// A line; nil bytes = it is longer than `Limits.importRecordBytesMax`.
    struct Line: Equatable {
        let number: Int
        let bytes: [UInt8]?
    }

    init(_ source: ByteSource) { self.source = source }

    /// nil at the end.
    mutating func next() throws(CommandFailure) -> Line? {
        if line == 0 { try source.skipByteOrderMark() }
        var bytes: [UInt8] = []
        var isTooLong = false
        while let byte = try source.next() {
            guard byte == 0x0A else {
                isTooLong = isTooLong || bytes.count == Limits.importRecordBytesMax
                if !isTooLong { bytes.append(byte) }
                continue
            }
            line += 1
            if isTooLong { return Line(number: line, bytes: nil) }
            if !Self.isBlank(bytes) { return Line(number: line, bytes: bytes) }
            bytes = []
        }
        guard isTooLong || !Self.isBlank(bytes) else { return nil }
        line += 1
        return Line(number: line, bytes: isTooLong ? nil : bytes)
    }

    private static func isBlank(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } }
}
