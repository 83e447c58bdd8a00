internal import PealCore

/// The server: version, subsystems, servers on its database, store, configuration; and signing out everywhere. For the
/// admin.
enum OperationsPage {
    static let routes: [ConsoleRoute] = [ConsoleRoute(.get, "operations", .admin, show)]

    /// For how long a server is listed after it was last seen.
    private static let serverSeconds: Int64 = 600

    @Sendable private static func show(_ call: PageCall) async throws -> ConsoleAnswer {
        let texts = call.texts
        let operations = call.services.operations
        let subsystems = await operations.readiness()
        let (size, servers) = try await call.services.store.read { store in
            (try store.size().map(Int64.init), try store.servers(seenSince: call.now - .seconds(serverSeconds)))
        }
        var facts = FactList()
        facts.add(texts[.version], text: call.services.options.version)
        if let bytes = operations.storeBytes() ?? size { facts.add(texts[.storeSize], text: megabytes(bytes, texts)) }
        facts.add(texts[.serverTime], call.time(call.now))
        var nodes = ListTable(caption: texts[.servers], columns: [texts[.name], texts[.lastSeen]])
        nodes.rows = servers.map { ["<code>\($0.name)</code>", call.time($0.seenAt)] }
        let settings = settings(operations.configurationLines(), texts)
        var page = Page(call, texts[.operations], .operations)
        page.body = """
            \(facts.html)
            <section><h2>\(texts[.subsystems])</h2>\(table(call, subsystems).html)</section>
            \(HTML.when(!nodes.rows.isEmpty, "<section><h2>\(texts[.servers])</h2>\(nodes.html)</section>"))
            <section class="card"><h2>\(texts[.sessions])</h2><p>\(texts[.sessionsText])</p>\
            \(call.button(texts[.signOutEverywhere], to: "/console/sign-out-everywhere", "danger", confirm: texts[.signOutEverywhereConfirm]))</section>
            \(backup(ofEmbedded: call.services.options.isStoreEmbedded, texts))
            \(HTML.when(!settings.rows.isEmpty, "<section><h2>\(texts[.configuration])</h2>\(settings.html)</section>"))
            """
        return page.answer()
    }

    static func backup(ofEmbedded isEmbedded: Bool, _ texts: Texts) -> HTML {
        let command = isEmbedded ? "peal backup --to DIR" : "pg_dump --format=custom --file=FILE DATABASE"
        return """
            <section><h2>\(texts[.backup])</h2><p>\(texts[.backupText])</p><pre>\(command)</pre></section>
            """
    }

    private static func table(
        _ call: PageCall, _ subsystems: [(subsystem: String, failure: String?)]
    ) -> ListTable {
        let texts = call.texts
        var table = ListTable(caption: texts[.subsystems], columns: [texts[.name], texts[.state]])
        table.rows = subsystems.map { name, failure in
            [
                "\(name)",
                failure.map { "\(call.badge(texts[.broken], "bad")) \($0)" } ?? call.badge(texts[.works], "good"),
            ]
        }
        return table
    }

    private static func settings(_ lines: [ConfigurationLine], _ texts: Texts) -> ListTable {
        var table = ListTable(
            caption: texts[.configuration], columns: [texts[.key], texts[.value], texts[.origin]])
        table.rows = lines.map { line in
            [
                "<code>\(HTML.breakable(line.key))</code>", "<code class=\"long\">\(line.value)</code>",
                "\(texts.origin(line.origin))",
            ]
        }
        return table
    }

    private static func megabytes(_ bytes: Int64, _ texts: Texts) -> String {
        let tenths = bytes / 104_858
        return "\(texts.number(Int(tenths / 10)))\(texts.language == .english ? "." : ",")\(tenths % 10) MiB"
    }
}

extension Texts {
    fileprivate func origin(_ origin: ConfigurationLine.Origin) -> String {
        switch origin {
        case .commandLine: self[.fromCommandLine]
        case .environment: self[.fromEnvironment]
        case .file: self[.fromFile]
        case .fallback: self[.fromDefault]
        }
    }
}
