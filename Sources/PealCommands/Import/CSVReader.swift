internal import PealCore

/// Reads comma-separated values (RFC 4180): quoted fields may contain commas, doubled quotes and line breaks. Line
/// breaks are LF, CRLF or CR; empty lines are skipped.
struct CSVReader {
    private var source: ByteSource
    private var line = 1
    private var isBegun = false

    /// A record, or why it is invalid. After an invalid record the reader goes on with the line after the record's
    /// first: a missing or extra quote must not swallow the following lines.
    struct Record: Equatable {
        /// The number of its first line, from 1.
        let number: Int
        let fields: Result<[String], Fault>
    }

    struct Fault: Error, Equatable {
        let reason: String

        static let quote = Fault(reason: "text follows a closing quote")
        static let unclosed = Fault(reason: "a quote is not closed")
        static let length = Fault(reason: "longer than \(Limits.importRecordBytesMax) bytes; is a quote not closed?")
        static let encoding = Fault(reason: "not UTF-8")
    }

    private enum State { case begin, plain, quoted, closed }

    init(_ source: ByteSource) { self.source = source }

    /// nil at the end.
    mutating func next() throws(CommandFailure) -> Record? {
        if !isBegun {
            try source.skipByteOrderMark()
            isBegun = true
        }
        while let byte = try source.peek() {
            guard byte == Self.lf || byte == Self.cr else { return try record() }
            _ = try source.next()
            try endLine(byte)
        }
        return nil
    }

    private static let (lf, cr, quote, comma) = (UInt8(0x0A), UInt8(0x0D), UInt8(0x22), UInt8(0x2C))

    private mutating func record() throws(CommandFailure) -> Record {
        let number = line
        var (fields, field, taken, state): ([[UInt8]], [UInt8], [UInt8], State) = ([], [], [], .begin)
        while let byte = try source.next() {
            taken.append(byte)
            guard taken.count <= Limits.importRecordBytesMax else { return try bad(number, .length, taken) }
            if state == .quoted {
                if byte == Self.quote {
                    state = .closed
                } else {
                    if byte == Self.lf { line += 1 }
                    field.append(byte)
                }
                continue
            }
            switch byte {
            case Self.comma:
                fields.append(field)
                field = []
                state = .begin
            case Self.lf, Self.cr:
                try endLine(byte)
                return Self.record(number, fields + [field])
            case Self.quote where state == .begin: state = .quoted
            case Self.quote where state == .closed:
                field.append(byte)
                state = .quoted
            default:
                guard state != .closed else { return try bad(number, .quote, taken) }
                field.append(byte)
                state = .plain
            }
        }
        if state == .quoted { return try bad(number, .unclosed, taken) }
        return Self.record(number, fields + [field])
    }

    private static func record(_ number: Int, _ fields: [[UInt8]]) -> Record {
        var texts: [String] = []
        for field in fields {
            guard let text = String(validating: field, as: UTF8.self) else {
                return Record(number: number, fields: .failure(.encoding))
            }
            texts.append(text)
        }
        return Record(number: number, fields: .success(texts))
    }

    /// Goes on after the record's first line.
    private mutating func bad(
        _ number: Int, _ fault: Fault, _ taken: [UInt8]
    ) throws(CommandFailure) -> Record {
        source.unread(taken)
        line = number
        while let byte = try source.next() {
            guard byte == Self.lf || byte == Self.cr else { continue }
            try endLine(byte)
            break
        }
        return Record(number: number, fields: .failure(fault))
    }

    private mutating func endLine(_ byte: UInt8) throws(CommandFailure) {
        if byte == Self.cr, try source.peek() == Self.lf { _ = try source.next() }
        line += 1
    }
}
