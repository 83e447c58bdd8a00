internal import PealCore

/// Where an import takes its devices from, in an order that is the same at every run.
protocol ImportSource {
    /// Identifies the source in a resume file.
    var name: String { get }

    /// The next record with a number above `done`; nil at the end.
    mutating func next(after done: Int) async throws(CommandFailure) -> ImportRecord?
}

/// One device of an import's source.
struct ImportRecord {
    /// Its first line, or its position among a server's registrations, from 1.
    let number: Int
    let content: Content

    enum Content {
        case device(JSON)
        /// Not to be imported, which is not an error.
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
        for name in ["state", "registered_at", "retired_at", "retired_reason"] { members[name] = nil }
        for (name, value) in members.pairs where value.isNull || value == "" { members[name] = nil }
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

    private enum Reader {
        case lines(LineReader)
        case csv(CSVReader, header: [String])
    }

    /// - Parameter environment: of iOS devices without one.
    /// - Throws: `usage` when the file cannot be read, or its header lacks platform or address.
    init(_ path: String, _ format: DeviceFormat, environment: String?) throws(CommandFailure) {
        name = path
        self.environment = environment
        let source = try ByteSource(path)
        guard format == .csv else {
            reader = .lines(LineReader(source))
            return
        }
        var csv = CSVReader(source)
        let header = try csv.next()?.fields
        guard case .success(let names)? = header else { throw .usage("\(path) has no header") }
        for column in ["platform", "address"] where !names.contains(column) {
            throw .usage("\(path) has no column \(column); columns are \(DeviceColumns.all.joined(separator: ", "))")
        }
        let unknown = names.filter { !DeviceColumns.all.contains($0) }
        if !unknown.isEmpty {
            Surroundings.current.warn("ignored columns: \(unknown.joined(separator: ", "))")
        }
        reader = .csv(csv, header: names)
    }

    mutating func next(after done: Int) throws(CommandFailure) -> ImportRecord? {
        switch reader {
        case .lines(var lines):
            defer { reader = .lines(lines) }
            while let line = try lines.next() {
                if line.number > done { return record(line) }
            }
        case .csv(var csv, let header):
            defer { reader = .csv(csv, header: header) }
            while let row = try csv.next() {
                if row.number > done { return record(row, header) }
            }
        }
        return nil
    }

    private func record(_ line: LineReader.Line) -> ImportRecord {
        guard let bytes = line.bytes else {
            return ImportRecord(
                number: line.number, content: .bad(reason: "longer than \(Limits.importRecordBytesMax) bytes"))
        }
        do {
            let device = try JSONParser.parse(bytes)
            return ImportRecord(number: line.number, device: device, environment: environment)
        } catch {
            return ImportRecord(number: line.number, content: .bad(reason: "not JSON: \(error)"))
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
