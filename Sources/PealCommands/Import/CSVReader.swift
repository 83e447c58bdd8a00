internal import Foundation
internal import PealCore
internal import PealServer

/// Reads comma-separated values (RFC 4180): quoted fields may contain commas, doubled quotes and line breaks. Line
/// breaks are LF, CRLF or CR; empty lines are skipped.
struct CSVReader {
    private(set) var source: ByteSource
    private var line = 1
    private var isBegun = false

    /// A record, or why it is invalid. After an invalid record, the reader continues with the line after the record's
    /// first line: a missing or extra quote must not swallow the following lines.
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

    /// Continues after the record's first line.
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

/// Reads a file or standard input byte by byte, with a small buffer.
struct ByteSource {
    private let handle: FileHandle
    private let path: String
    private var piece: [UInt8] = []
    private var position = 0
    /// Bytes read before `piece`.
    private var passed = 0
    /// nil if it is not a file.
    private let size: Int?
    private static let pieceBytes = 64 * 1024

    /// How much has been read, from 0 to 1; nil if that is unknown.
    var share: Double? { size.map { $0 > 0 ? Double(passed + position) / Double($0) : 1 } }

    /// - Parameter path: `-` for standard input.
    /// - Throws: `usage` when the file cannot be read.
    init(_ path: String) throws(CommandFailure) {
        self.path = path
        let status = path == "-" ? nil : FileStatus(path)
        guard status?.kind != .folder else { throw .usage("\(path) is a folder") }
        size = status?.kind == .file ? status?.bytes : nil
        if path == "-" {
            handle = .standardInput
        } else if let file = FileHandle(forReadingAtPath: path) {
            handle = file
        } else {
            throw .usage("cannot read \(path)")
        }
    }

    /// The next byte without consuming it; nil at the end.
    mutating func peek() throws(CommandFailure) -> UInt8? {
        if position == piece.count {
            passed += piece.count
            do {
                piece = try handle.read(upToCount: Self.pieceBytes).map { Array($0) } ?? []
            } catch {
                throw .failed("cannot read \(path): \(systemReason(of: error))")
            }
            position = 0
        }
        return position < piece.count ? piece[position] : nil
    }

    mutating func next() throws(CommandFailure) -> UInt8? {
        let byte = try peek()
        if byte != nil { position += 1 }
        return byte
    }

    /// Puts back bytes that `next` returned.
    mutating func unread(_ bytes: some Collection<UInt8>) {
        passed += position - bytes.count
        piece = Array(bytes) + piece[position...]
        position = 0
    }

    /// Skips a byte order mark.
    /// - Throws: `usage` for UTF-16, and for a compressed file.
    mutating func skipByteOrderMark() throws(CommandFailure) {
        let first = try peek()
        if piece.starts(with: [0x1F, 0x8B]) { throw .usage("\(path) is compressed with gzip; unpack it first") }
        // Without a byte order mark, UTF-16 looks like UTF-8 with zeros.
        if piece.prefix(2).contains(0) { throw .usage("\(path) is not UTF-8") }
        if first == 0xFF || first == 0xFE, [[0xFF, 0xFE], [0xFE, 0xFF]].contains(Array(piece.prefix(2))) {
            throw .usage("\(path) is not UTF-8")
        }
        guard try peek() == 0xEF, piece.count >= 3, position == 0, piece.starts(with: [0xEF, 0xBB, 0xBF]) else {
            return
        }
        position = 3
    }
}

/// Reads a file line by line, and skips empty lines.
struct LineReader {
    private(set) var source: ByteSource
    private var line = 0

    /// A line; its bytes are nil when it is longer than `Limits.importRecordBytesMax`.
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
