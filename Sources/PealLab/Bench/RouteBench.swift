import ArgumentParser
import Foundation
import Hummingbird
import Logging
import PealCore
import PealSQLite
import PealStore
import Synchronization

/// `peal-lab bench route`: a Hummingbird server whose only route decodes a Pivotal push and answers. The intake
/// benchmark compares Peal with it: it shows the minimum cost of such a request on this server framework. With `--rows`,
/// the route also inserts the rows of a request before it answers, durably.
struct RouteBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route", abstract: "Serve a bare Hummingbird route that decodes a push.")

    @Option(help: "File to write the port to.")
    var portFile: String

    @Option(help: "JSON file with a schema and the rows that each request inserts.")
    var rows: String?

    @Option(help: "Path of the new database for --rows.")
    var database = "bench.db"

    /// The members of a push that the route decodes.
    struct Push: Decodable {
        struct Message: Decodable { let body: String }
        struct Target: Decodable { let devices: [String] }

        let message: Message
        let target: Target
    }

    struct Receipt: ResponseEncodable { let receipt_id: String }

    func run() async throws {
        let inserts: RowInserts?
        if let rows { inserts = try await RowInserts(file: rows, database: database) } else { inserts = nil }
        let router = Router()
        router.post("/v1/push") { request, context in
            let push = try await request.decode(as: Push.self, context: context)
            try await inserts?.run()
            return Receipt(receipt_id: push.target.devices.first ?? "")
        }
        let portFile = portFile
        var logger = Logger(label: "bench")
        logger.logLevel = .warning
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                try? "\(port)".write(toFile: portFile, atomically: true, encoding: .utf8)
            }, logger: logger)
        try await application.runService()
    }
}

/// Inserts the same rows again and again, each time with new keys, with the group commits of Peal's SQLite engine.
private final class RowInserts: Sendable {
    private struct Insert: Sendable {
        let text: String
        let values: [SQLValue]
        /// The values that differ each time, so that the row is unique.
        let varied: [Int]
    }

    private let engine: SQLiteEngine
    private let inserts: [Insert]
    private let count = Atomic(Int64(0))

    /// - Parameter file: `{"schema": [statements], "rows": [{"table", "columns", "values", "varied"}]}`. Values are
    ///   numbers, strings, null, and `{"hex"}` for bytes.
    init(file: String, database: String) async throws {
        let json = try BenchCommand.document(file)
        engine = try SQLiteEngine(path: database)
        let schema = (json["schema"]?.arrayValue ?? []).compactMap(\.stringValue)
        try await engine.migrate { connection in
            for statement in schema { try connection.execute(statement, []) }
        }
        inserts = (json["rows"]?.arrayValue ?? []).map { row in
            let columns = (row["columns"]?.arrayValue ?? []).compactMap(\.stringValue)
            let parameters = columns.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
            let names = columns.joined(separator: ", ")
            return Insert(
                text: "INSERT INTO \(row["table"]?.stringValue ?? "") (\(names)) VALUES (\(parameters))",
                values: (row["values"]?.arrayValue ?? []).map(Self.value),
                varied: (row["varied"]?.arrayValue ?? []).compactMap { $0.integerValue.map(Int.init) })
        }
    }

    private static func value(_ json: JSON) -> SQLValue {
        if let number = json.integerValue { return .int(number) }
        if let text = json.stringValue { return .text(text) }
        return json["hex"]?.stringValue.flatMap { Hex.decode($0) }.map(SQLValue.bytes) ?? .null(.int)
    }

    func run() async throws {
        let number = count.add(1, ordering: .relaxed).newValue + (1 << 40)
        try await engine.write(.intake) { [inserts] connection in
            for insert in inserts {
                var values = insert.values
                for index in insert.varied {
                    switch values[index] {
                    case .int: values[index] = .int(number)
                    case .text: values[index] = .text("\(number)")
                    case .bytes, .null: values[index] = Identifier<Message>(high: UInt64(number), low: 0).stored
                    }
                }
                try connection.execute(insert.text, values)
            }
        }
    }
}
