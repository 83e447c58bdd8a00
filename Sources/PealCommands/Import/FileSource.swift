internal import PealCore

/// Devices of a file: CSV with a header, or a JSON object in each line.
struct FileSource: ImportSource {
    let name: String
    private let environment: String?
    private var reader: Reader

    private enum Reader {
        case lines(LineReader)
        case csv(CSVReader, header: [String])
    }

    /// - Parameter environment: of iOS devices that name none.
    /// - Throws: `usage` when the file cannot be read or its header names no platform or address.
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
            Surroundings.current.warn("columns passed over: \(unknown.joined(separator: ", "))")
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
