internal import ArgumentParser
internal import PealCore

/// The source of an import's devices, in the same order at every run.
protocol ImportSource {
    /// Identifies the source in a resume file.
    var name: String { get }

    /// How much has been read, from 0 to 1; nil if that is unknown.
    var share: Double? { get }

    /// The next record with a number above `done`; nil at the end.
    mutating func next(after done: Int) async throws(CommandFailure) -> ImportRecord?

    /// Called at the end: whether record `done`, which an earlier run read, does not exist.
    func ends(before done: Int) -> Bool
}

/// One device of an import's source.
struct ImportRecord {
    /// Its first line, or its position among a server's registrations, from 1.
    let number: Int
    let content: Content

    enum Content {
        case device(JSON)
        /// Skipped, which is not an error.
        case skipped
        case bad(reason: String)
    }

    init(number: Int, content: Content) {
        self.number = number
        self.content = content
    }

    /// A device as exported, without empty members and those that only the server sets. A retired device is skipped,
    /// because its address is invalid.
    init(number: Int, device: JSON, environment: String?) {
        self.number = number
        guard var members = device.objectValue else {
            content = .bad(reason: "expected a JSON object, not \(device.typeName)")
            return
        }
        if members["state"] == "retired" {
            content = .skipped
            return
        }
        let left: Set = ["state", "registered_at", "retired_at", "retired_reason"]
        members = JSON.Members(members.pairs.filter { !left.contains($0) && !$1.isNull && $1 != "" })
        // Other platforms have no environments.
        if members["platform"] != "ios" { members["environment"] = nil }
        if members["environment"] == nil, members["platform"] == "ios", let environment {
            members["environment"] = .string(environment)
        }
        content = .device(.object(members))
    }
}

/// The devices in a file: CSV with a header, or one JSON object per line.
struct FileSource: ImportSource {
    let name: String
    private let environment: String?
    private var reader: Reader
    /// The number of the last record that was read, even if it was skipped.
    private var reached = 0

    var share: Double? {
        switch reader {
        case .lines(let lines): lines.source.share
        case .csv(let csv, _): csv.source.share
        }
    }

    private enum Reader {
        case lines(LineReader)
        case csv(CSVReader, header: [String])
    }

    /// - Parameter environment: of iOS devices without one.
    /// - Throws: `usage` when the file cannot be read, or its header lacks platform or address or repeats a column.
    init(_ path: String, _ format: DeviceFormat, environment: String?) throws(CommandFailure) {
        name = path
        self.environment = environment
        let source = try ByteSource(path)
        guard format == .csv else {
            reader = .lines(LineReader(source))
            return
        }
        var csv = CSVReader(source)
        let names = try Self.header(&csv, of: path)
        for column in ["platform", "address"] where !names.contains(column) {
            let isOtherwiseSeparated = names.count == 1 && names[0].contains { $0 == ";" || $0 == "\t" }
            let hint =
                isOtherwiseSeparated
                ? "fields are separated by commas" : "columns are \(DeviceColumns.all.joined(separator: ", "))"
            throw .usage("\(path) has no column \(column); \(hint)")
        }
        for column in DeviceColumns.all where names.count(where: { $0 == column }) > 1 {
            throw .usage("\(path) has more than one column \(column)")
        }
        let unknown = names.filter { !DeviceColumns.all.contains($0) }
        if !unknown.isEmpty {
            Surroundings.current.warn("ignored columns: \(unknown.joined(separator: ", "))")
        }
        reader = .csv(csv, header: names)
    }

    private static func header(_ csv: inout CSVReader, of path: String) throws(CommandFailure) -> [String] {
        guard let fields = try csv.next()?.fields else { throw .usage("\(path) has no header") }
        switch fields {
        // Without a byte order mark, UTF-16 looks like UTF-8 with zeros.
        case .success(let names) where !names.contains(where: { $0.utf8.contains(0) }): return names
        case .failure(let fault) where fault != .encoding:
            throw .usage("\(path) has no valid header: \(fault.reason)")
        case .success, .failure: throw .usage("\(path) is not UTF-8")
        }
    }

    mutating func next(after done: Int) throws(CommandFailure) -> ImportRecord? {
        switch reader {
        case .lines(var lines):
            defer { reader = .lines(lines) }
            while let line = try lines.next() {
                reached = line.number
                if line.number > done { return record(line) }
            }
        case .csv(var csv, let header):
            defer { reader = .csv(csv, header: header) }
            while let row = try csv.next() {
                reached = row.number
                if row.number > done { return record(row, header) }
            }
        }
        return nil
    }

    func ends(before done: Int) -> Bool { reached < done }

    private func record(_ line: LineReader.Line) -> ImportRecord {
        guard let bytes = line.bytes else {
            return ImportRecord(
                number: line.number, content: .bad(reason: "longer than \(Limits.importRecordBytesMax) bytes"))
        }
        do throws(JSONParser.Failure) {
            let device = try JSONParser.parse(bytes, refusesRepeated: true)
            return ImportRecord(number: line.number, device: device, environment: environment)
        } catch {
            let reason = error.repeated.map { "\($0) is given more than once" } ?? "not JSON: \(error)"
            return ImportRecord(number: line.number, content: .bad(reason: reason))
        }
    }

    private func record(_ row: CSVReader.Record, _ header: [String]) -> ImportRecord {
        switch row.fields {
        case .failure(let fault): return ImportRecord(number: row.number, content: .bad(reason: fault.reason))
        case .success(let fields):
            do {
                let device = try DeviceColumns.device(fields, header: header)
                return ImportRecord(number: row.number, device: device, environment: environment)
            } catch {
                return ImportRecord(number: row.number, content: .bad(reason: error.reason))
            }
        }
    }
}

/// A device as a row of a CSV file: the columns are the members of the native API, with lists and objects as JSON.
enum DeviceColumns {
    /// The columns of an export, in order.
    static let all = [
        "id", "platform", "environment", "address", "user_id", "topics", "locale", "time_zone", "os_version",
        "app_version", "alias", "model", "manufacturer", "vendor_os", "identifiers", "attributes", "state",
    ]

    private static let objects: Set = ["identifiers", "attributes"]

    /// Why a row is not a device.
    struct Fault: Error, Equatable {
        let reason: String
    }

    /// Reads one row; empty fields are absent.
    static func device(_ fields: [String], header: [String]) throws(Fault) -> JSON {
        guard fields.count == header.count else {
            throw Fault(reason: "has \(Spelling.counted(fields.count, "field")), the header has \(header.count)")
        }
        var device = JSON.Members()
        for (name, text) in zip(header, fields) where !text.isEmpty && all.contains(name) {
            device[name] = try value(CellMark.removed(from: text), of: name)
        }
        return .object(device)
    }

    private static func value(_ text: String, of name: String) throws(Fault) -> JSON {
        switch name {
        case "topics":
            guard text.hasPrefix("[") else {
                return .array(text.split(separator: ";").map { .string(String($0).trimmed) }.filter { $0 != "" })
            }
            guard let list = try? JSONParser.parse(text), list.arrayValue != nil else {
                throw Fault(reason: "topics is not a list such as [\"a\",\"b\"] or a;b")
            }
            return list
        case "address" where text.hasPrefix("{"), _ where objects.contains(name):
            // For the other columns `null` is a text: there are users of that name.
            return try object(text, of: name)
        default: return .string(text)
        }
    }

    private static func object(_ text: String, of name: String) throws(Fault) -> JSON {
        do throws(JSONParser.Failure) {
            let object = try JSONParser.parse(text.utf8, refusesRepeated: true)
            if object.objectValue != nil || object.isNull { return object }
        } catch {
            if let member = error.repeated { throw Fault(reason: "\(name).\(member) is given more than once") }
        }
        throw Fault(reason: "\(name) is not a JSON object")
    }

    /// A line without its line break.
    static func row(_ device: JSON) -> String {
        all.map { name in
            switch device[name] {
            case nil, .null: ""
            case .string(let text): quoted(CellMark.added(to: text))
            case .array(let elements) where elements.isEmpty: ""
            case .some(let value): quoted(value.text)
            }
        }.joined(separator: ",")
    }

    /// Quoted if RFC 4180 §2 requires it.
    static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}

/// The apostrophe before a cell that spreadsheets would otherwise compute as a formula (CWE-1236), such as a user's id
/// `=1+1` or `+4366012345`. A cell that looks as if it had the mark gets another one, so that reading what was written
/// gives the same text.
enum CellMark {
    private static let mark: Unicode.Scalar = "'"
    /// What a formula begins with, in full width too, and the white space that spreadsheets remove before it.
    private static let beginnings: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}", "\t", "\r", "\n",
    ]

    static func added(to text: String) -> String { isFormula(text) ? "\(mark)\(text)" : text }

    static func removed(from cell: String) -> String {
        guard cell.unicodeScalars.first == mark, isFormula(cell) else { return cell }
        return String(String.UnicodeScalarView(cell.unicodeScalars.dropFirst()))
    }

    /// Whether the text is a formula after any number of marks.
    private static func isFormula(_ text: String) -> Bool {
        text.unicodeScalars.first { $0 != mark }.map(beginnings.contains) ?? false
    }
}

extension String {
    /// The string without surrounding white space.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

/// The environment of iOS devices, as the native API spells it.
enum DeviceEnvironment: String, CaseIterable, ExpressibleByArgument {
    case production
    case sandbox
    case development
}

/// The format of a file with devices.
enum DeviceFormat: String, CaseIterable, ExpressibleByArgument {
    case csv
    case jsonl

    /// The given format, or that of the file's extension, or JSON lines.
    static func chosen(_ given: DeviceFormat?, file: String?) -> DeviceFormat {
        given ?? (file?.lowercased().hasSuffix(".csv") == true ? .csv : .jsonl)
    }
}
