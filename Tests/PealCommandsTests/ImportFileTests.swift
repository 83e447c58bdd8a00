import Foundation
import PealCore
import Testing

@testable import PealCommands

/// A temporary directory, which is deleted with the value.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "peal-import-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }

    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }

    func text(_ name: String) -> String? {
        FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) }
    }
}

@Suite("Files of devices") struct ImportFileTests {
    private func rows(_ bytes: [UInt8]) throws -> [CSVReader.Record] {
        let folder = try Folder()
        var reader = CSVReader(try ByteSource(try folder.write("f", bytes)))
        var rows: [CSVReader.Record] = []
        while let row = try reader.next() { rows.append(row) }
        return rows
    }

    private func rows(_ text: String) throws -> [CSVReader.Record] { try rows(Array(text.utf8)) }

    private func row(_ number: Int, _ fields: String...) -> CSVReader.Record {
        CSVReader.Record(number: number, fields: .success(fields))
    }

    private func fault(_ number: Int, _ fault: CSVReader.Fault) -> CSVReader.Record {
        CSVReader.Record(number: number, fields: .failure(fault))
    }

    @Test("records are read as RFC 4180 specifies, each with its line")
    func records() throws {
        #expect(try rows("") == [])
        #expect(try rows("a,b\r\nc,\r\n") == [row(1, "a", "b"), row(2, "c", "")])
        #expect(try rows("\u{FEFF}a\n\n\r\nb") == [row(1, "a"), row(4, "b")])
        #expect(try rows("a\rb\r") == [row(1, "a"), row(2, "b")])
        #expect(
            try rows("\"a,\"\"b\"\"\",\"\"\n\"x\r\ny\",z\nlast")
                == [row(1, "a,\"b\"", ""), row(2, "x\r\ny", "z"), row(4, "last")])
        #expect(try rows(",\n") == [row(1, "", "")])
        #expect(try rows("a\"b,ü\n") == [row(1, "a\"b", "ü")])
    }

    @Test("an invalid record is reported, and the next line is read")
    func faults() throws {
        #expect(try rows("\"a\"b,c\nd\n") == [fault(1, .quote), row(2, "d")])
        #expect(try rows("a\n\"b\nc") == [row(1, "a"), fault(2, .unclosed), row(3, "c")])
        #expect(try rows("\"x\ny\n\"z\",1\nlast") == [fault(1, .quote), row(2, "y"), row(3, "z", "1"), row(4, "last")])
        #expect(try rows([0x61, 0x0A, 0xFF, 0x0A, 0x62]) == [row(1, "a"), fault(2, .encoding), row(3, "b")])
        let long = String(repeating: "x", count: Limits.importRecordBytesMax + 9)
        #expect(try rows("\(long)\nb\n") == [fault(1, .length), row(2, "b")])
        #expect(try rows("a,\"\(long)\nb\n") == [fault(1, .length), row(2, "b")])
        let many = (2...30_000).map { "a\($0),ios" }
        let found = try rows("\"a1,ios\n" + many.joined(separator: "\n"))
        #expect(found.first == fault(1, .length))
        #expect(found.dropFirst().map(\.number) == Array(2...30_000), "a stray quote costs no line but its own")
    }

    @Test("lines are numbered, and lines that are too long are skipped")
    func lines() throws {
        let folder = try Folder()
        let long = String(repeating: "x", count: Limits.importRecordBytesMax + 1)
        var reader = LineReader(try ByteSource(try folder.write("f", "a\n\n \r\n\(long)\nb\r\n\(long)")))
        var lines: [LineReader.Line] = []
        while let line = try reader.next() { lines.append(line) }
        #expect(lines.map(\.number) == [1, 4, 5, 6])
        #expect(lines.map { $0.bytes.map { String(decoding: $0, as: UTF8.self) } } == ["a", nil, "b\r", nil])
    }

    @Test("a device is read from its row as it was written")
    func roundTrip() throws {
        let text = #"""
            {"id":"d","platform":"web","environment":"production","address":{"endpoint":"https://x/\"1,2"},\#
            "user_id":"Ann, \"A\"\nB","topics":["a;b","c,d",""],"locale":"de","attributes":{"n":1.0},"state":"active"}
            """#
        let device = try JSONParser.parse(text)
        let folder = try Folder()
        let csv = DeviceColumns.all.joined(separator: ",") + "\n" + DeviceColumns.row(device) + "\n"
        var reader = CSVReader(try ByteSource(try folder.write("f.csv", csv)))
        let header = try #require(try reader.next()).fields.get()
        let fields = try #require(try reader.next()).fields.get()
        #expect(try DeviceColumns.device(fields, header: header) == device)
        #expect(try reader.next() == nil)
    }

    @Test(
        "spreadsheets compute no value, and it is read as it was",
        arguments: [
            ("=1+1", "'=1+1"), ("+4366012345", "'+4366012345"), ("-x", "'-x"), ("@a", "'@a"), ("\tx", "'\tx"),
            ("'=x", "''=x"), ("''+", "'''+"), ("\u{FF1D}1", "'\u{FF1D}1"), ("'", "'"), ("'a", "'a"), ("a=b", "a=b"),
        ])
    func formulas(text: String, cell: String) throws {
        let row = DeviceColumns.row(["user_id": .string(text)])
        let fields = row.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        #expect(fields[4] == cell)
        #expect(try DeviceColumns.device(fields, header: DeviceColumns.all) == ["user_id": .string(text)])
    }

    @Test("topics may be written by hand, and what is not JSON is reported")
    func columns() throws {
        let header = ["topics", "attributes", "unknown"]
        #expect(try DeviceColumns.device(["a; b ;", "", "x"], header: header) == ["topics": ["a", "b"]])
        for fields in [["[a", "", ""], ["", "{", ""], ["", "5", ""], ["", ""]] {
            #expect(throws: DeviceColumns.Fault.self) { try DeviceColumns.device(fields, header: header) }
        }
    }

    @Test("a member that is given twice is refused, because either could be meant")
    func repeated() throws {
        let folder = try Folder()
        let lines = #"{"platform":"ios","address":"a"}"# + "\n" + #"{"platform":"ios","platform":"web","address":"b"}"#
        let table = "platform,address,attributes\nios,a,\nios,b,\"{\"\"a\"\":1,\"\"a\"\":2}\"\n"
        for (format, text, number, reason) in [
            (DeviceFormat.jsonl, lines, 2, "platform is given more than once"),
            (.csv, table, 3, "attributes.a is given more than once"),
        ] {
            var source = try FileSource(try folder.write("f", text), format, environment: nil)
            let first = try #require(try source.next(after: 0))
            guard case .device = first.content else { throw CommandFailure.failed("not a device") }
            let second = try #require(try source.next(after: first.number))
            guard case .bad(let given) = second.content else { throw CommandFailure.failed("not refused") }
            #expect(given == reason && second.number == number)
        }
    }

    @Test(
        "null is a value in CSV, except for objects",
        arguments: [
            ("user_id", "null", ["user_id": "null"]), ("alias", "null", ["alias": "null"]),
            ("topics", "null", ["topics": ["null"]]), ("attributes", "null", [:]), ("identifiers", " null ", [:]),
            ("attributes", #"{"a":null}"#, ["attributes": ["a": .null]]),
        ] as [(String, String, JSON)])
    func nulls(column: String, text: String, expected: JSON) throws {
        let device = try DeviceColumns.device([text], header: [column])
        guard case .device(let cleaned) = ImportRecord(number: 1, device: device, environment: nil).content else {
            Issue.record("not a device")
            return
        }
        #expect(cleaned == expected)
    }

    @Test("members that only the server sets are left out, and a retired device is skipped")
    func cleaning() throws {
        let device = try JSONParser.parse(
            #"{"id":"d","platform":"ios","address":"00","alias":"","user_id":null,"state":"active","retired_at":1}"#
        )
        guard case .device(let cleaned) = ImportRecord(number: 1, device: device, environment: "sandbox").content else {
            Issue.record("not a device")
            return
        }
        #expect(cleaned == ["id": "d", "platform": "ios", "address": "00", "environment": "sandbox"])
        guard case .skipped = ImportRecord(number: 1, device: ["state": "retired"], environment: nil).content else {
            Issue.record("not skipped")
            return
        }
        guard case .bad = ImportRecord(number: 1, device: 5, environment: nil).content else {
            Issue.record("not bad")
            return
        }
    }
}
