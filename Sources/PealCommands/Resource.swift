internal import ArgumentParser
internal import PealCore

/// A kind of object inside an app that `peal … list` prints.
protocol ListedResource {
    /// The arguments that narrow the list.
    associatedtype Filter: ResourceFilter

    static var listAbstract: String { get }
    /// The members of an item that the table shows.
    static var columns: [String] { get }
}

/// A kind of object inside an app whose path the command line names.
protocol NamedResource {
    /// The arguments that name one object.
    associatedtype Name: ResourceName
}

/// A kind of object inside an app that `peal … show` prints.
protocol ShownResource: NamedResource {
    static var showAbstract: String { get }
}

/// A kind of object inside an app that `peal … delete` deletes.
protocol DeletedResource: NamedResource {
    static var deleteAbstract: String { get }
    /// What to print once an object is deleted.
    static func deleted(_ name: Name) -> String
}

/// Arguments of a list.
protocol ResourceFilter: ParsableArguments {
    /// The path of the list, with its query.
    func path(in app: AppOptions) throws(CommandFailure) -> APIPath
}

/// Arguments that name one object.
protocol ResourceName: ParsableArguments {
    /// The segments of its path below the app.
    var segments: [String] { get }
}

/// `peal … list`.
struct ListCommand<Resource: ListedResource>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: Resource.listAbstract)
    }

    @OptionGroup var filter: Resource.Filter
    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try filter.path(in: app)
        options.show(try await options.client().list(path, limit: list.givenLimit), columns: Resource.columns)
    }
}

/// `peal … show`.
struct ShowCommand<Resource: ShownResource>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: Resource.showAbstract)
    }

    @OptionGroup var name: Resource.Name
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        options.show(try await options.client().send(.get, path))
    }
}

/// `peal … delete`.
struct DeleteCommand<Resource: DeletedResource>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "delete", abstract: Resource.deleteAbstract)
    }

    @OptionGroup var name: Resource.Name
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        options.showDone(try await options.client().send(.delete, path), Resource.deleted(name))
    }
}

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
        return text.onOneLine
    }

    /// Rows of cells, each column as wide on a terminal as its widest cell.
    static func aligned(_ rows: [[String]]) -> String {
        let columnCount = rows.map(\.count).max() ?? 0
        let widths = (0..<columnCount).map { column in rows.map { $0[column].terminalWidth }.max() ?? 0 }
        let lines = rows.map { row in
            let padded = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.terminalWidth) }
            let line = padded.joined(separator: "  ")
            return String(line[..<(line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex)])
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// The columns that the text takes on a terminal.
    fileprivate var terminalWidth: Int { reduce(0) { $0 + ($1.isWide ? 2 : 1) } }
}

extension Character {
    /// Whether it takes two columns: an emoji, or one of the blocks that UAX #11 lists as wide.
    fileprivate var isWide: Bool {
        unicodeScalars.contains { scalar in
            scalar.properties.isEmojiPresentation || scalar.value == 0xFE0F
                || Self.wideBlocks.contains { $0.contains(scalar.value) }
        }
    }

    /// Hangul, CJK, Kana, Yi and fullwidth forms.
    private static let wideBlocks: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
    ]
}
