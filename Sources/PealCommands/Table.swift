internal import PealCore

/// Formats a JSON document as a table: a list with columns, an object as names and values.
enum Table {
    /// - Parameter columns: the members of a list's items to show, in this order; empty for those of the first item.
    static func text(_ document: JSON, columns: [String] = []) -> String {
        if let items = document["items"]?.arrayValue { return list(items, columns: columns) }
        let rows = flattened(document, under: "").map { [$0.name, $0.value] }
        return rows.isEmpty ? "done" : aligned(rows)
    }

    private static func list(_ items: [JSON], columns: [String]) -> String {
        guard let first = items.first else { return "none" }
        let names = columns.isEmpty ? flattened(first, under: "").map(\.name) : columns
        let rows = items.map { item in
            names.map { name in
                let value = name.split(separator: ".").reduce(Optional(item)) { $0?[String($1)] }
                return value.map(cell) ?? ""
            }
        }
        return aligned([names.map { $0.uppercased() }] + rows)
    }

    /// The leaves of an object with their dotted names.
    private static func flattened(_ value: JSON, under path: String) -> [(name: String, value: String)] {
        guard let members = value.objectValue else { return [(path, cell(value))] }
        return members.pairs.flatMap { name, member in
            flattened(member, under: path.isEmpty ? name : "\(path).\(name)")
        }
    }

    /// A value on one line. Control characters would break the table or the terminal.
    private static func cell(_ value: JSON) -> String {
        let text =
            switch value {
            case .null: ""
            case .string(let text): text
            case .array(let elements) where elements.allSatisfy({ $0.stringValue != nil }):
                elements.compactMap(\.stringValue).joined(separator: ", ")
            case .bool, .number, .array, .object: value.text
            }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// Rows of cells, each column as wide as its widest cell.
    static func aligned(_ rows: [[String]]) -> String {
        let columnCount = rows.map(\.count).max() ?? 0
        let widths = (0..<columnCount).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            let padded = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            let line = padded.joined(separator: "  ")
            return String(line[..<(line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex)])
        }
        return lines.joined(separator: "\n")
    }
}
