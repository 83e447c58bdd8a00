internal import ArgumentParser
internal import PealCore
internal import PealServer

/// `peal audit`: the audit log.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "List and check the audit log.",
        subcommands: [AuditListCommand.self, AuditVerifyCommand.self])
}

/// `peal audit list`. Without an app, the admin sees the rows of all apps.
struct AuditListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the entries of the audit log, newest first.",
        discussion: "With --app or PEAL_APP, only rows of that app. --all shows those of all apps; only admins may.")

    @Option(help: "Only rows from this time (RFC 3339) on.")
    var from: String?

    @Option(help: "Only rows before this time (RFC 3339).")
    var to: String?

    @Option(help: "Only rows of this actor: an id or a name.")
    var actor: String?

    @Option(help: "Only rows with this action, such as key.create, or its first word.")
    var action: String?

    @Flag(help: "Rows of all apps, even if PEAL_APP is set.")
    var all = false

    @Flag(help: "Print every row as JSON lines, oldest first.")
    var export = false

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    private static let columns = ["at", "actor", "actor_name", "address", "action", "object", "outcome"]

    func validate() throws {
        guard !export || list.givenLimit == nil else {
            throw ValidationError("--limit is not allowed with --export, which prints every row")
        }
        guard !all || app.app == nil else { throw ValidationError("give either --all or --app") }
    }

    func run() async throws {
        let path = try path().adding("from", from).adding("to", to).adding("actor", actor).adding("action", action)
        let client = try options.client()
        guard export else {
            return options.show(try await client.list(path, limit: list.givenLimit), columns: Self.columns)
        }
        try await client.lines(path) { Surroundings.current.print($0) }
    }

    private func path() throws(CommandFailure) -> APIPath {
        let isNamed = app.app != nil || Surroundings.current.environment["PEAL_APP"] != nil
        return all || !isNamed ? APIPath(["audit"]) : try app.path(["audit"])
    }
}

/// `peal audit verify`.
struct AuditVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check that no row of the audit log was changed, added or deleted.",
        discussion: """
            The server checks its own log. With --file, an export is checked instead, without a server: the rows of \
            all apps, as peal audit list --all --export prints them.
            """)

    @Option(help: "Check this export, or - for standard input.", completion: .file())
    var file: String?

    @OptionGroup var options: ClientOptions

    func run() async throws {
        let result = try await result()
        guard result["ok"]?.boolValue == true else {
            if options.json { options.show(result) }
            let row = result["id"]?.stringValue ?? result["row"]?.text ?? "?"
            throw CommandFailure.refused(
                "the audit log is broken at row \(row): \(result["reason"]?.stringValue ?? "")")
        }
        if options.json { return options.show(result) }
        let rows = Spelling.counted(result["rows"]?.integerValue ?? 0, "row")
        Surroundings.current.print("The audit log is intact: \(rows).")
    }

    private func result() async throws(CommandFailure) -> JSON {
        guard let file else {
            return try await options.client().send(
                .post, APIPath(["audit"], verb: ":verify"), isHarmless: true)
        }
        return Self.check(lines: String(decoding: try InputFile.bytes(file), as: UTF8.self))
    }

    /// The first row is trusted, because rows before it may have been pruned.
    static func check(lines: String) -> JSON {
        var (last, count) = (String?.none, 0)
        // Only LF ends a line. Names may contain other characters that Swift counts as line breaks, such as U+2028.
        for line in lines.utf8.split(separator: UInt8(ascii: "\n")) where !line.elementsEqual("\r".utf8) {
            guard let row = try? JSONParser.parse(line, isStored: true), var members = row.objectValue,
                let hash = members["hash"]?.stringValue
            else { return ["ok": false, "row": .integer(count + 1), "reason": "the line is not an audit log entry"] }
            members["hash"] = nil
            if let last, auditHash(after: last, .object(members)) != hash {
                return .compact([
                    ("ok", false), ("row", .integer(count + 1)), ("id", row["id"]),
                    ("reason", "the row was changed, or a row before it is missing"),
                ])
            }
            (last, count) = (hash, count + 1)
        }
        return ["ok": true, "rows": .integer(count)]
    }
}
