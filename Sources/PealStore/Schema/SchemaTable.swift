/// A table as the migrations create it, as far as copying a store requires.
struct SchemaTable: Sendable, Hashable {
    let name: String
    var columns: [Column]
    var key: [String]

    struct Column: Sendable, Hashable {
        let name: String
        let kind: SQLValue.Kind
    }

    /// Every table after all migrations, in the order of their creation.
    static let all: [SchemaTable] = {
        var tables: [SchemaTable] = []
        for statement in Migration.all.flatMap(\.statements) { apply(statement, to: &tables) }
        return tables
    }()

    private static func apply(_ statement: String, to tables: inout [SchemaTable]) {
        let words = statement.split { $0.isWhitespace || $0 == "(" }.map(String.init)
        guard words.count > 2 else { return }
        switch (words[0], words[1]) {
        case ("CREATE", "TABLE"): tables.append(SchemaTable(words[2], definition: statement))
        case ("DROP", "TABLE"): tables.removeAll { $0.name == words[2] }
        case ("ALTER", "TABLE"):
            guard let index = tables.firstIndex(where: { $0.name == words[2] }), words.count > 5 else { return }
            if words[3] == "ADD", let column = Column(Array(words[5...])) { tables[index].columns.append(column) }
            if words[3] == "DROP" { tables[index].columns.removeAll { $0.name == words[5] } }
            if words[3] == "RENAME" { tables[index].rename(words[5], to: words[7]) }
        default: break
        }
    }

    private mutating func rename(_ old: String, to new: String) {
        columns = columns.map { $0.name == old ? Column(name: new, kind: $0.kind) : $0 }
        key = key.map { $0 == old ? new : $0 }
    }

    /// Reads `CREATE TABLE name (…)`.
    private init(_ name: String, definition: String) {
        self.name = name
        columns = []
        key = []
        for entry in Self.entries(definition) {
            let words = entry.split(whereSeparator: \.isWhitespace).map(String.init)
            if words.starts(with: ["PRIMARY", "KEY"]) {
                let names = entry.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }
                key = names.split { $0 == "," || $0.isWhitespace }.map(String.init)
            } else if let column = Column(words) {
                columns.append(column)
                if entry.contains("PRIMARY KEY") { key = [column.name] }
            }
        }
    }

    /// The text between the outer parentheses, split at commas outside inner ones.
    private static func entries(_ definition: String) -> [String] {
        var (entries, entry, depth) = ([String](), "", 0)
        for character in definition.drop(while: { $0 != "(" }) {
            if character == ")" { depth -= 1 }
            if depth == 0, character == ")" { break }
            if depth == 1, character == "," {
                entries.append(entry)
                entry = ""
            } else if depth > 0 {
                entry.append(character)
            }
            if character == "(" { depth += 1 }
        }
        return entries + [entry]
    }
}

extension SchemaTable.Column {
    /// nil if it is not a column, such as a constraint.
    init?(_ words: [String]) {
        guard words.count > 1 else { return nil }
        switch words[1] {
        case "BIGINT": kind = .int
        case "{text}": kind = .text
        case "{bytes}": kind = .bytes
        default: return nil
        }
        name = words[0]
    }
}
