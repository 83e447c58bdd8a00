import Foundation
@testable import PealStore
import Testing

/// What decision 40 states about distributing the schema on Citus.
@Suite("The distribution of the schema")
struct DistributionTests {
    /// The tables of each row of the page, in its order: by app, reference tables, the coordinator's.
    private static func rows() throws -> [Set<String>] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/decisions/0040-not-on-citus.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        return lines.filter { $0.hasPrefix("| `") }.map { row in
            let names = row.split(separator: "|")[0].matches(of: /`([a-z_]+)`/)
            return Set(names.map { String($0.output.1) })
        }
    }

    @Test("every table is in one place")
    func complete() throws {
        let rows = try Self.rows()
        #expect(rows.count == 3)
        #expect(rows.flatMap(\.self).sorted() == SchemaTable.all.map(\.name).sorted())
    }

    @Test("tables distributed by app have it in their keys, and in every unique index except the named one")
    func keys() throws {
        let distributed = try Self.rows()[0]
        for table in SchemaTable.all where distributed.contains(table.name) {
            #expect(table.key.contains("app"), "\(table.name)")
        }
        let unique = Migration.all.flatMap(\.statements).compactMap { statement in
            try? /CREATE UNIQUE INDEX (\w+) ON (\w+) \(([^)]*)\)/.firstMatch(in: statement)
        }
        #expect(!unique.isEmpty)
        let without = unique.filter { match in
            distributed.contains(String(match.output.2))
                && !match.output.3.split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces) == "app" }
        }
        #expect(without.map { String($0.output.1) } == ["installation_token"])
    }
}
